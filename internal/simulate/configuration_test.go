package simulate

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const pool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
      - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}
`

const class = `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: web}
spec:
  amiFamily: Custom
  amiSelectorTerms: [{id: ami-0123456789abcdef0}]
  userData: "#!/bin/sh"
  instanceProfile: mine
  subnetSelectorTerms: [{tags: {team: web}}, {id: subnet-0123456789abcdef0}]
  securityGroupSelectorTerms: [{name: web}]
  capacityReservationSelectorTerms: [{tags: {team: web}}]
  placementGroupSelector: {name: near}
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 50Gi, kmsKeyID: "arn:aws:kms:eu-west-1:123456789012:key/x"}}]
`

// What classes select is in another account: it is replaced, and said, and everything else stays.
func TestClassesSelectWhatTheSimulatedAccountHas(t *testing.T) {
	c, err := Configure("a", []File{{"pool.yaml", []byte(pool)}, {"class.yaml", []byte(class)}, {"settings.env", []byte("# a comment\nexport BATCH_IDLE_DURATION=2s\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var got awsv1.EC2NodeClass
	if err := json.Unmarshal([]byte(c.Manifests[1].JSON), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Spec
	if s.AMISelectorTerms[0].Alias != "al2023@latest" || s.UserData != nil || s.InstanceProfile != nil || s.Role == "" || s.CapacityReservationSelectorTerms != nil || s.PlacementGroupSelector != nil {
		t.Errorf("%+v", s)
	}
	if e := s.BlockDeviceMappings[0].EBS; e.KMSKeyID != nil || e.VolumeSize.String() != "50Gi" {
		t.Errorf("%+v", e)
	}
	if c.Region != "eu-west-1" || c.Settings["BATCH_IDLE_DURATION"] != "2s" || len(c.Notes) < 5 {
		t.Errorf("%s %v %v", c.Region, c.Settings, c.Notes)
	}
}

func TestAPoolWithoutItsClassGetsOne(t *testing.T) {
	c, err := Configure("a", []File{{"pool.yaml", []byte(pool)}})
	if err != nil || len(c.Manifests) != 2 || !strings.Contains(c.Manifests[1].JSON, `"name":"web"`) {
		t.Errorf("%+v %v", c, err)
	}
}

func TestWrongConfigurationsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"pool.yaml", strings.Replace(pool, "operator: In", "operator: Inn", 1), "pool.yaml:9: spec.template.spec.requirements[0].operator"},
		{"pool.yaml", strings.Replace(pool, "nodeClassRef", "nodeClasRef", 1), "spec.template.spec.nodeClasRef: there is no such field; did you mean nodeClassRef?"},
		{"pool.yaml", strings.Replace(pool, "nodeClassRef", "nodeclassref", 1), "pool.yaml:7: spec.template.spec.nodeclassref: there is no such field; did you mean nodeClassRef?"},
		{"pool.yaml", "a: [", "pool.yaml:1:"},
		{"class.yaml", class, "there are EC2NodeClasses and no NodePool in the files: add the NodePool"},
		{"pool.yaml", pool + "---\n" + pool, "pool.yaml:11: NodePool web is there twice; it is in pool.yaml:1 too"},
		{"settings.env", "BATCH_IDLE_DURATION\n", "settings.env:1: want NAME=VALUE"},
		{"settings.env", "\nBATCH_IDLE_DURATIN=2s\n", `settings.env:2: the controller has no setting "BATCH_IDLE_DURATIN"; did you mean BATCH_IDLE_DURATION?`},
		{"settings.env", "BATCH_IDLE_DURATION=soon\n", `settings.env:1: BATCH_IDLE_DURATION="soon"`},
		{"settings.env", "BATCH_MAX_DURATION=30s\nBATCH_IDLE_DURATION=60s\n", "settings.env:2: BATCH_IDLE_DURATION=1m0s is longer than BATCH_MAX_DURATION=30s"},
		{"settings.env", "NOVEL=1\nBATCH\nCLUSTER_NAME=mine\n", "settings.env:3: CLUSTER_NAME is set by the simulation"},
		{"settings.env", "NOVEL=1\nBATCH\nCLUSTER_NAME=mine\n", "settings.env:2: want NAME=VALUE"},
		{"settings.env", "--shadow=true\n", "settings.env:1: KERF_SHADOW is set by the simulation"},
		{"settings.env", "LOG_LEVEL=debug\nBATCH_MAX_DURATION=500ms\n", "settings.env:2: BATCH_IDLE_DURATION=1s is longer than BATCH_MAX_DURATION=500ms"},
		{"settings.env", "LOG_LEVEL=debug\nKERF_PRICE_GUARD=x\nRESERVED_ENIS=y\n", "settings.env:2: KERF_PRICE_GUARD=\"x\": want a whole number of times from 0 to 1000, such as 5, or off"},
		{"settings.env", "FEATURE_GATES=NodeOverlay=true\n", "settings.env:1: NodeOverlays are not simulated"},
		{"settings.env", "CLUSTER_NAME=mine\n", "settings.env:1: CLUSTER_NAME is set by the simulation"},
	} {
		if _, err := Configure("a", []File{{c.name, []byte(c.text)}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// A gate that there is none of would be measured as if it were on; what the controller only warns of is in the report.
func TestWhatTheControllerWarnsOfIsSaid(t *testing.T) {
	for pair, want := range map[string]string{
		"FEATURE_GATES=SpotToSpotConsolidaton=true": `--set FEATURE_GATES=SpotToSpotConsolidaton=true: the controller has no feature gate "SpotToSpotConsolidaton"; did you mean SpotToSpotConsolidation?`,
		"AWS_FEATURE_GATES=Novel=true":              `the controller has no feature gate "Novel" (there are NodeClassCEL)`,
	} {
		if _, err := Configure("a", nil, pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", pair, err, want)
		}
	}
	for _, pairs := range [][]string{{"FEATURE_GATES=Novel=false"}, {"IGNORE_DRA_REQUESTS=false"}, {"AWS_FEATURE_GATES=NodeClassCEL=true"}, {"KERF_COMPAT=karpenter", "KUBE_CLIENT_QPS=many"}} {
		c, err := Configure("a", nil, pairs...)
		if err != nil {
			t.Fatalf("%v: %v", pairs, err)
		}
		name, _, _ := strings.Cut(pairs[len(pairs)-1], "=")
		said := len(c.Warnings) == 1 && strings.HasPrefix(c.Warnings[0], name)
		if said != (name != "FEATURE_GATES") {
			t.Errorf("%v: it warns of %q", pairs, c.Warnings)
		}
	}
	var b bytes.Buffer
	one := &Result{Workload: "w", Warnings: []string{"LOG_LEVEL: odd", "IGNORE_DRA_REQUESTS: idle"}, Notes: []workload.Note{{What: "no subnets"}}}
	writeRuns(&b, []*Result{one, one})
	if text := b.String(); !strings.Contains(text, "NOTE: the controller warns of its settings: LOG_LEVEL: odd; IGNORE_DRA_REQUESTS: idle\n") || !strings.HasSuffix(text, "Other than in your cluster:\n  - no subnets\n") {
		t.Errorf("the report is\n%s", text)
	}
	if _, notes := (&Comparison{Configurations: []Configured{{Name: "a", Results: []*Result{one}}, {Name: "b", Results: []*Result{{}}}}}).places(); !slices.Contains(notes, "with a, the controller warns of its settings: LOG_LEVEL: odd; IGNORE_DRA_REQUESTS: idle") {
		t.Errorf("a comparison says %q", notes)
	}
}

func TestShortNamesOfFlagsAreTaken(t *testing.T) {
	for _, pair := range []string{"compat=karpenter", "--compat=karpenter", "kerf-compat=karpenter", "KERF_COMPAT=karpenter"} {
		if c, err := Configure("a", nil, pair); err != nil || c.Settings["KERF_COMPAT"] != "karpenter" {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

// Whether a setting is accepted hangs on others, which may come after it.
func TestTheOrderOfSettingsDoesNotMatter(t *testing.T) {
	for _, pairs := range [][]string{
		{"BATCH_IDLE_DURATION=20s", "BATCH_MAX_DURATION=60s"},
		{"KUBE_CLIENT_QPS=many", "KERF_COMPAT=karpenter"}, // Karpenter takes its default
	} {
		for range 2 {
			slices.Reverse(pairs)
			file, err := Configure("a", []File{{"settings.env", []byte(strings.Join(pairs, "\n"))}})
			if err != nil {
				t.Errorf("%v in a file: %v", pairs, err)
			}
			flags, err := Configure("a", nil, pairs...)
			if err != nil || file == nil || !maps.Equal(file.Settings, flags.Settings) {
				t.Errorf("%v as flags: %v", pairs, err)
			}
			if _, err := Configure("a", []File{{"settings.env", []byte(pairs[0])}}, pairs[1]); err != nil {
				t.Errorf("%v in both: %v", pairs, err)
			}
		}
	}
	for pair, want := range map[string]string{
		"BATCH_IDLE_DURATION":            "--set BATCH_IDLE_DURATION: want NAME=VALUE",
		"BATCH_IDLE_DURATION=soon":       `--set BATCH_IDLE_DURATION=soon: BATCH_IDLE_DURATION="soon": want a duration`,
		"batch-idle-duratio=2s":          "did you mean BATCH_IDLE_DURATION?",
		"FEATURE_GATES=NodeOverlay=true": "--set FEATURE_GATES=NodeOverlay=true: NodeOverlays are not simulated",
	} {
		if _, err := Configure("a", nil, pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", pair, err, want)
		}
	}
	c, err := Configure("a", []File{{"settings.env", []byte("LOG_LEVEL=debug")}}, "LOG_LEVEL=error")
	if err != nil || c.Settings["LOG_LEVEL"] != "error" {
		t.Errorf("a flag against a file: %v", err)
	}
}

// The examples are what a new user gives.
func TestTheExamplesCanBeSimulated(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "nodepool.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Configure("a", []File{{"nodepool.yaml", data}}); err != nil {
		t.Error(err)
	}
}
