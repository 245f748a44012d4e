// Command kerf-controlplane is a complete Kubernetes control plane in one
// static binary: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
// and kwok, which plays the kubelets of instances that do not exist.
//
// Every component registers global flags, feature gates and metrics, so they
// cannot share a process. The binary therefore starts itself once for each
// role; the role "up" makes certificates, starts the others, waits until all
// of them answer, prints one line of JSON and stays until it is told to stop
// or until the process that started it is gone.
//
//	kerf-controlplane up          the whole control plane
//	kerf-controlplane version     the Kubernetes version it speaks
//	kerf-controlplane etcd        one component, as "up" starts it
//	kerf-controlplane apiserver
//	kerf-controlplane controller-manager
//	kerf-controlplane scheduler
//	kerf-controlplane kwok
//
// It is a module of its own, apart from everything that uses it: Kubernetes
// then gets exactly the dependency versions it was released with, and nothing
// in Kerf makes it necessary to compile it again.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/version"
)

// A role runs one part of the control plane with its own arguments and
// returns the exit code of the process.
type role func(args []string) int

// roles are the parts by name. The name is the first argument of the process.
var roles = map[string]role{
	"up":                 runUp,
	"etcd":               runEtcd,
	"apiserver":          runAPIServer,
	"controller-manager": runControllerManager,
	"scheduler":          runScheduler,
	"kwok":               runKwok,
	"version":            runVersion,
}

func main() {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kerf-controlplane up|version [flags]; kerf-controlplane up --help lists the flags")
		os.Exit(2)
	}
	run := roles[os.Args[1]]
	args := os.Args[2:]
	// Some components parse os.Args themselves; they must not see the role.
	os.Args = append([]string{os.Args[0]}, args...)
	watchLifeline()
	os.Exit(run(args))
}

// runVersion prints the version of Kubernetes that is built in.
func runVersion([]string) int {
	fmt.Println(version.Get().GitVersion)
	return 0
}
