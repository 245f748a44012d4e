package main

import (
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics of the components
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func runAPIServer(args []string) int {
	return runComponent(apiserver.NewAPIServerCommand(), args)
}

func runControllerManager(args []string) int {
	return runComponent(controllermanager.NewControllerManagerCommand(), args)
}

func runScheduler(args []string) int {
	return runComponent(scheduler.NewSchedulerCommand(), args)
}

func runComponent(cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	return cli.Run(cmd)
}
