// Command kerf is a node autoscaler for Kubernetes on AWS and the tools around it.
package main

import (
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // for images that have no certificates of their own

	"github.com/kerf-sh/kerf/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
