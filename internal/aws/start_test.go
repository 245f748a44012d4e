package aws_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func version(v string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return v, nil }
}

func TestWhatKeepsTheControllerFromStartingIsSaidWithTheWayOut(t *testing.T) {
	s := startSim(t, awssim.Options{})
	tests := []struct {
		name string
		env  map[string]string
		edit func(*aws.Options)
		want []string
	}{
		{"credentials that are refused", map[string]string{"AWS_ACCESS_KEY_ID": "AKIANOBODY"}, nil, []string{"AWS refuses the credentials", "AWS_ACCESS_KEY_ID"}},
		{"a secret that is wrong", map[string]string{"AWS_SECRET_ACCESS_KEY": "wrong"}, nil, []string{"AWS refuses the credentials", "AWS_SECRET_ACCESS_KEY"}},
		{"an endpoint where nobody answers", map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, nil, []string{"EC2 can't be reached", "AWS_ENDPOINT_URL", "us-east-1"}},
		{"credentials that are nowhere", map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"}, nil,
			[]string{"no AWS credentials found", "AWS_PROFILE", "service account"}},
		{"a cluster that does not exist", nil, func(o *aws.Options) { o.ClusterName = "other" }, []string{`"other"`, "us-east-1", "CLUSTER_NAME", "CLUSTER_ENDPOINT"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			err := newProvider(t, s, tt.edit).Check(t.Context())
			if err == nil {
				t.Fatal("the check passed")
			}
			if tt.name == "credentials that are nowhere" && strings.Contains(err.Error(), "check the network") {
				t.Errorf("%q blames the network", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
	sess, err := session.New(t.Context(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := aws.New(sess, aws.Options{}); err == nil || !strings.Contains(err.Error(), "CLUSTER_NAME") {
		t.Errorf("without a cluster's name: %v", err)
	}
	for _, bad := range []string{"::", "example.com"} {
		if _, err := aws.New(sess, aws.Options{ClusterName: "a", ClusterEndpoint: bad}); err == nil || !strings.Contains(err.Error(), "CLUSTER_ENDPOINT") || !strings.Contains(err.Error(), bad) {
			t.Errorf("with the endpoint %q: %v", bad, err)
		}
	}
	if err := newProvider(t, s, nil).Check(t.Context()); err != nil {
		t.Errorf("with everything in order: %v", err)
	}
}

func TestAnInstanceGoes(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	instances, errs := launchAll(t, p, class, newClaims(4))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	listed, err := p.List(t.Context(), 0)
	if err != nil || len(listed) != 4 {
		t.Fatalf("listed %d, %v", len(listed), err)
	}
	tags := map[string]map[string]string{}
	for name, m := range instances {
		tags[m.ProviderID] = map[string]string{"Name": name + ".node", "karpenter.sh/nodeclaim": name}
	}
	if err := p.Tag(t.Context(), tags); err != nil {
		t.Fatal(err)
	}
	for name, m := range instances {
		if got, err := p.Get(t.Context(), m.ProviderID); err != nil || got.Claim != name || got.Pool != "pool" || got.Tags["Name"] != name+".node" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, m := range instances {
		if err := p.Terminate(t.Context(), m.ProviderID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.Terminate(t.Context(), m.ProviderID); !cloud.IsNotFound(err) {
			t.Errorf("%s is gone, but ending it again gave %v", name, err)
		}
	}
	if listed, err := p.List(t.Context(), 0); err != nil || len(listed) != 0 || len(alive(s)) != 0 {
		t.Errorf("left are %d, %v", len(listed), err)
	}
	if err := p.Terminate(t.Context(), "nonsense"); !cloud.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
