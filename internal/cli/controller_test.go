package cli

import (
	"bytes"
	"io"
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

func TestManifestsTellWhatTheControllerWarnsOf(t *testing.T) {
	for set, want := range map[string]string{
		"":         "",
		"settings": `AWS_FEATURE_GATES: feature gate "Novel" is not known and has no effect`,
	} {
		args := []string{"manifests", "--cluster-name", "demo"}
		if set != "" {
			args = append(args, "--values", "-")
		}
		root := Root()
		var said bytes.Buffer
		root.SetArgs(args)
		root.SetIn(strings.NewReader("controller: {env: [{name: AWS_FEATURE_GATES, value: Novel=true}]}"))
		root.SetOut(io.Discard)
		root.SetErr(&said)
		if err := root.Execute(); err != nil || !strings.Contains(said.String(), want) || strings.Contains(said.String(), "has no effect") != (want != "") {
			t.Errorf("%q: it says %q, %v", args, said.String(), err)
		}
	}
}
