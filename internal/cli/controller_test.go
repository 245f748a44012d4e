package cli

import (
	"strings"
	"testing"
)

func TestArgumentsAreThoseOfTheController(t *testing.T) {
	for line, want := range map[string]string{
		"":                             "",
		"--region eu-west-1 --quiet":   "",
		"--compat=karpenter --shadow":  "",
		"--log-level=info":             "",
		"--reserved-enis":              "flag needs an argument: --reserved-enis",
		"-log-level=debug":             "unknown shorthand flag: 'l'",
		"--novel=1":                    "unknown flag: --novel",
		"--isolated-vpc false":         "takes no arguments",
		"--kubeconfig /x --context=me": "",
	} {
		if err := controllerArguments(strings.Fields(line)); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
}
