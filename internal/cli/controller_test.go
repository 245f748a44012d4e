package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestArgumentsAreThoseOfTheController(t *testing.T) {
	for line, want := range map[string][]string{
		"":                             nil,
		"--region eu-west-1 --quiet":   nil,
		"--compat=karpenter --shadow":  nil,
		"--log-level=info":             nil,
		"--reserved-enis":              {"flag needs an argument: --reserved-enis"},
		"--reserved-enis --quiet":      nil, // the next is the value, whatever it looks like
		"-log-level=debug":             {"unknown shorthand flag: 'l'"},
		"--novel=1":                    {"unknown flag: --novel"},
		"--isolated-vpc false":         {`takes no arguments, only flags; "false"`},
		"--kubeconfig /x --context=me": nil,
		"--quiet -- a --b":             {`"a" was given`, `"--b" was given`},
		"--novel 1 -log-level=debug --region eu-west-1 b --quiet=maybe --reserved-enis": {
			"unknown flag: --novel", "unknown shorthand flag: 'l'", `"b" was given`, `invalid argument "maybe" for "-q, --quiet" flag`, "flag needs an argument: --reserved-enis"},
	} {
		got := controllerArguments(strings.Fields(line))
		same := slices.EqualFunc(got, want, func(err error, want string) bool { return strings.Contains(err.Error(), want) })
		if !same {
			t.Errorf("%q: got %v, want %q", line, got, want)
		}
		// The controller itself ends with the first of them, or takes the line.
		c, _, _ := Root().Find([]string{"controller"})
		err := c.ParseFlags(strings.Fields(line))
		if err == nil {
			err = noArguments(c, c.Flags().Args())
		}
		if (err == nil) != (len(got) == 0) {
			t.Errorf("%q: the controller says %v, of the arguments %v are refused", line, err, got)
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
