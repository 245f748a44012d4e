#!/usr/bin/env bash
# Builds the control plane binary unless the one that is there is current.
#
#   controlplane/build.sh [OUTPUT]     default: bin/kerf-controlplane
#   controlplane/build.sh --key        prints the key of the sources and exits
#
# The key is a hash of everything that goes into the binary: sources, go.mod,
# go.sum, the flags below and the Go version. It is kept in OUTPUT.key. The
# make target and the test harness both call this script, so the binary is
# linked once however it is asked for.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$root/cmd/kerf-controlplane

# Kubernetes must know its version: an apiserver that calls itself v0.0.0
# confuses every client that asks. It is read from go.mod.
version=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' "$source_dir/go.mod" | head -n 1)
minor=${version#v1.}
minor=${minor%%.*}
ldflags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  ldflags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
done
# Changing any of these but the link flags compiles Kubernetes again. They are those of "go test" and "go build" without
# flags, and go.mod has the versions of Kerf's own: what both use is compiled once.
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false
flags=(-mod=readonly)

hash=sha256sum
command -v sha256sum >/dev/null || hash="shasum -a 256"
key=$(
  cd "$source_dir"
  {
    go env GOVERSION GOOS GOARCH
    echo "${flags[*]} $ldflags"
    find . -type f ! -name '*_test.go' ! -name '*.md' | LC_ALL=C sort | while read -r file; do
      $hash "$file"
    done
  } | $hash | cut -d ' ' -f 1
)
if [ "${1:-}" = --key ]; then
  echo "$key"
  exit 0
fi

output=${1:-$root/../bin/kerf-controlplane}
mkdir -p "$(dirname "$output")"
output=$(cd "$(dirname "$output")" && pwd)/$(basename "$output")
if [ -x "$output" ] && [ "$(cat "$output.key" 2>/dev/null)" = "$key" ]; then
  exit 0
fi
echo "building $(basename "$output"): Kubernetes $version; a first build takes some minutes" >&2
temporary=$output.$$
trap 'rm -f "$temporary"' EXIT
(cd "$source_dir" && go build "${flags[@]}" -ldflags "$ldflags" -o "$temporary" .)
mv "$temporary" "$output"
echo "$key" >"$output.key"
