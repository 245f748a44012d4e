package stack

import (
	"strings"
	"testing"
)

// What a module would silently take off a role that it takes over is refused with the flag that keeps it.
func TestWhatAModuleWouldTakeOffARoleIsRefused(t *testing.T) {
	const (
		boundary = "arn:aws:iam::" + testAccount + ":policy/boundary"
		provider = "arn:aws:iam::" + testAccount + ":oidc-provider/oidc.example.com/id/1"
	)
	pods := func(o *Options) { o.Controller = PodIdentity }
	irsa := func(o *Options) { o.Controller, o.OIDCProvider = IRSA, provider }
	bound := func(o *Options) { pods(o); o.PermissionsBoundary = boundary }
	for name, c := range map[string]struct {
		found, module func(*Options)
		want          []string // in the error; nil: none
	}{
		"the same":                      {pods, pods, nil},
		"the same provider":             {irsa, irsa, nil},
		"the same provider, by its URL": {irsa, func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "https://oidc.example.com/id/1" }, nil},
		"the same boundary":             {bound, bound, nil},
		"a boundary that is new":        {pods, bound, nil},
		"a boundary":                    {bound, pods, []string{"role KarpenterNodeRole-demo", "role demo-karpenter", "--permissions-boundary " + boundary}},
		"a provider":                    {irsa, pods, []string{"--controller irsa --oidc-provider " + provider}},
		"another provider":              {irsa, func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "https://oidc.example.com/id/2" }, []string{"--oidc-provider " + provider}},
		"pod identity":                  {pods, irsa, []string{"--controller pod-identity"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := makeStack(t, Latest, c.found).Setup(testAccount, "eu-west-1")
			s := makeStack(t, Latest, c.module, func(o *Options) { o.Adopt = AdoptLive })
			_, err := s.Imports(Found{Setup: found, NodeRole: found.Roles[0].Name, Controller: found.Roles[1].Name})
			if (err != nil) != (c.want != nil) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

// Every policy that is taken over keeps what Terraform would replace it for.
func TestPoliciesThatAreTakenOverAreNotReplaced(t *testing.T) {
	s := makeStack(t, Latest, func(o *Options) { o.Adopt, o.Controller = AdoptLive, PodIdentity })
	m := parseModule(t, s)
	policies := 0
	for address, body := range m.resources {
		if !strings.HasPrefix(address, "aws_iam_policy.") {
			continue
		}
		policies++
		if len(body.Blocks) != 1 || body.Blocks[0].Type != "lifecycle" {
			t.Errorf("%s has no lifecycle block", address)
		}
	}
	if policies != len(s.Policies) {
		t.Errorf("%d policies, want %d", policies, len(s.Policies))
	}
}
