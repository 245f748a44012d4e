// Package checktest is what the tests of checks and fixes share: files of set-ups, a stack with all that there is, and reports as
// text. It is for the packages beside check, whose testdata it reads.
package checktest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// Where set-ups lie.
const (
	Account = "123456789012"
	Region  = "eu-west-1"
)

// ReadFile reads a file of check/testdata.
func ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "check", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Checked reads a file and compares it with an edition.
func Checked(t *testing.T, name string, data []byte, want stack.Options, o setupfile.ReadOptions) *check.Report {
	t.Helper()
	o.Source = name
	setup, kind, err := setupfile.Read(data, o)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	r, err := check.Compare(setup, kind, check.Options{Stack: want})
	if err != nil {
		t.Fatalf("compare %s: %v", name, err)
	}
	return r
}

// Text is a report as people read it.
func Text(t *testing.T, r *check.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Everything is a stack with all that there is.
func Everything(c stack.Compat) stack.Options {
	o := stack.Defaults(c)
	o.ClusterName = "demo"
	o.Controller = stack.PodIdentity
	o.AccessEntry = "EC2_LINUX"
	o.DeadLetter, o.RuleSources, o.Alarms, o.InstanceStatus = true, true, true, true
	o.CapacityReservations, o.PlacementGroups, o.ZonalShift, o.LaunchTemplates = true, true, true, true
	o.Parameters = []string{"arn:aws:ssm:eu-west-1:123456789012:parameter/images/golden"}
	o.VolumeKeys = []string{"arn:aws:kms:eu-west-1:123456789012:key/volumes"}
	o.KMS = true
	return o
}

// SetupOf is a stack as it would be found.
func SetupOf(t *testing.T, o stack.Options) *awssetup.Setup {
	t.Helper()
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Setup(Account, Region)
}

// Compare compares a set-up with a stack.
func Compare(t *testing.T, s *awssetup.Setup, o stack.Options) *check.Report {
	t.Helper()
	r, err := check.Compare(s, setupfile.KindCloudFormation, check.Options{Stack: o})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Names tells whether one finding has all words.
func Names(r *check.Report, words []string) bool {
	return slices.ContainsFunc(r.Findings, func(f check.Finding) bool {
		b, err := json.Marshal(f)
		if err != nil {
			return false
		}
		all := strings.ToLower(string(b))
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, strings.ToLower(w)) })
	})
}

// Template is a stack as a CloudFormation template.
func Template(t *testing.T, o stack.Options) []byte {
	t.Helper()
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
