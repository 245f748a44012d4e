package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func runCatalog(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(append([]string{"catalog"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestCatalogShow(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a type":                 {[]string{"show", "m5.large"}, 0, "0.096 USD an hour in us-east-1"},
		"in another region":      {[]string{"show", "m5.large", "--region", "eu-west-1"}, 0, "0.107 USD an hour in eu-west-1"},
		"for programs":           {[]string{"show", "m5.large", "--output", "json"}, 0, `"price": "0.096"`},
		"in another form":        {[]string{"show", "m5.large", "-o", "xml"}, 2, `want text, json or yaml`},
		"an unknown type":        {[]string{"show", "m5.huge"}, 2, `instance type "m5.huge" is not known`},
		"no type":                {[]string{"show"}, 2, "name one instance type"},
		"two types":              {[]string{"show", "m5.large", "c5.large"}, 2, "2 were given"},
		"a file that is not":     {[]string{"show", "m5.large", "--facts", "no-such-file"}, 2, "no-such-file"},
		"a file of other sort":   {[]string{"show", "m5.large", "--facts", "catalog_test.go"}, 2, "catalog_test.go: opening the facts file"},
		"a flag that is unknown": {[]string{"show", "--nonsense"}, 2, "nonsense"},
	} {
		code, stdout, stderr := runCatalog(c.args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

func TestCatalogUpdate(t *testing.T) {
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Region: "ap-south-2", Types: []string{"m5.large", "m5.metal"}}})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	defer sim.Close()
	for _, v := range append(sim.Env(), "AWS_MAX_ATTEMPTS=1") {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "facts.tsv.gz")
	code, stdout, stderr := runCatalog("update", "--output", file)
	if code != 0 || !strings.HasPrefix(stdout, "ap-south-2: 2 types (0 new), 2 offered, 2 on-demand and ") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = runCatalog("show", "m5.large", "--region", "ap-south-2", "--facts", file)
	if code != 0 || !strings.Contains(stdout, "(exact)") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}

	sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "DescribeInstanceTypes", Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403})
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr = runCatalog("update", "--output", file)
	if code != 1 || !strings.Contains(stderr, "ec2:DescribeInstanceTypes") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	after, err := os.ReadFile(file)
	left, _ := os.ReadDir(dir)
	if err != nil || !bytes.Equal(before, after) || len(left) != 1 {
		t.Errorf("a failed update touched the file (%v), %d files are left", err, len(left))
	}
	sim.World.ClearFaults()
	if code, _, stderr = runCatalog("update", "--output", filepath.Join(dir, "no", "such", "folder")); code != 1 || !strings.Contains(stderr, "writing") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}
