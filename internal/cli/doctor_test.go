package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestDoctorsExitCodeAndReport(t *testing.T) {
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), Enforce: true, CAFile: filepath.Join(t.TempDir(), "ca.pem")})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.World.PutRolePolicy("KarpenterController-kerf", "all", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`); err != nil {
		t.Fatal(err)
	}
	sim.Start()
	defer func() { _ = sim.Close() }()
	for _, v := range append(sim.Env(), "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PROFILE=", "KUBECONFIG=/dev/null", "CLUSTER_NAME=",
		"AWS_ACCESS_KEY_ID="+world.DefaultAdminAccessKey, "AWS_SECRET_ACCESS_KEY="+world.DefaultAdminSecretKey) {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	for name, test := range map[string]struct {
		args  []string
		spoil func() error
		code  int
		out   string // part of it
		err   string
	}{
		"no such form": {[]string{"--cluster-name", "kerf", "--output", "xml"}, nil, 2, "", "want text, json, yaml, sarif or junit"},
		"nothing left": {[]string{"--no-aws", "--no-kubernetes"}, nil, 2, "", "nothing is left"},
		"no name":      {[]string{"--no-kubernetes"}, nil, 2, "", "--cluster-name"},
		"a proof":      {[]string{"--cluster-name", "kerf", "--no-kubernetes", "--prove-delivery", "--verbose"}, nil, 0, "proven", "removing rule"},
		"a wrong key": {[]string{"--cluster-name", "kerf"}, func() error {
			return sim.World.SetQueueAttributes("kerf", map[string]string{"KmsMasterKeyId": "alias/aws/sqs"})
		}, 3, "FAILED   1 queue-managed-key", ""},
		"a cluster that is not there": {[]string{"--cluster-name", "nosuch", "--kubeconfig", "testdata/none"}, nil, 1, "", "nosuch"},
		"without the cluster":         {[]string{"--cluster-name", "kerf"}, nil, 1, "the cluster could not be looked at", "the cluster could not be looked at"},
		"another region":              {[]string{"--cluster-name", "kerf", "--no-kubernetes", "--region", "eu-south-2"}, nil, -1, "region eu-south-2", ""},
		"as JSON":                     {[]string{"--cluster-name", "kerf", "--no-kubernetes", "-o", "json"}, nil, -1, `"id": "queue-exists"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.spoil != nil {
				if err := test.spoil(); err != nil {
					t.Fatal(err)
				}
				defer func() {
					_ = sim.World.SetQueueAttributes("kerf", map[string]string{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"})
				}()
			}
			var out, errs bytes.Buffer
			code := Main(append([]string{"doctor"}, test.args...), &out, &errs)
			if test.code >= 0 && code != test.code || !strings.Contains(out.String(), test.out) || !strings.Contains(errs.String(), test.err) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, test.code, out.String(), errs.String())
			}
			if strings.HasPrefix(test.out, `"`) && !json.Valid(out.Bytes()) {
				t.Errorf("this is no JSON: %s", out.String())
			}
		})
	}
}

// What is read live is what the flags say, or nothing is.
func TestLiveCheckKeepsToRegionAndAccount(t *testing.T) {
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), CAFile: filepath.Join(t.TempDir(), "ca.pem")})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	defer func() { _ = sim.Close() }()
	for _, v := range append(sim.Env(), "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PROFILE=",
		"AWS_ACCESS_KEY_ID="+world.DefaultAdminAccessKey, "AWS_SECRET_ACCESS_KEY="+world.DefaultAdminSecretKey) {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	check := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := Main(append([]string{"stack", "check", "--live", "--cluster-name", "kerf", "--output", "json"}, args...), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := check("--account-id", "999988887777"); code != 2 || !strings.Contains(text, "AWS_PROFILE") {
		t.Errorf("another account: exit code %d: %s", code, text)
	}
	if _, text := check("--account-id", sim.World.Account()); !strings.Contains(text, `"region": "`+sim.World.Region()+`"`) {
		t.Errorf("the account itself: %s", text)
	}
	if _, text := check("--region", "eu-south-2"); strings.Contains(text, `"region": "`+sim.World.Region()+`"`) || !strings.Contains(text, "eu-south-2") {
		t.Errorf("another region: %s", text)
	}
}
