#!/bin/sh
# Regenerates everything in api/ that is made from the Go types: deep copies and CRDs.
# CONTROLLER_GEN may name an installed binary; otherwise the one that `.ci/tools controller-gen` installed is taken if it
# has the pinned version, and else that version is run from the module cache or the proxy, without becoming a dependency of
# this module.
set -eu
cd "$(dirname "$0")/.."

version=v0.21.0
generator=${CONTROLLER_GEN:-}
if [ -z "$generator" ] && [ -e .ci/bin/.controller-gen-$version ]; then
	generator=.ci/bin/controller-gen
fi
generator=${generator:-go run sigs.k8s.io/controller-tools/cmd/controller-gen@$version}
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

$generator object paths=./api/status/... paths=./api/karpenter/... paths=./api/autoscaling/... paths=./api/aws/...
$generator crd paths=./api/karpenter/... paths=./api/autoscaling/... paths=./api/aws/... output:crd:dir="$raw"
go run ./api/crds/gen -in "$raw" -out api/crds
$generator rbac:roleName=kerf paths=./internal/setup/rbac output:rbac:dir=internal/setup/rbac
for feature in overlays buffers spreads; do
	$generator rbac:roleName=kerf-$feature paths=./internal/setup/rbac/$feature output:rbac:dir=internal/setup/rbac/$feature
done
$generator rbac:roleName=kerf-viewer paths=./internal/setup/rbac/viewer output:rbac:dir=internal/setup/rbac/viewer
$generator rbac:roleName=kerf-reader paths=./internal/setup/rbac/reader output:rbac:dir=internal/setup/rbac/reader
