package authz_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

func request(operation string, form url.Values) *wire.Request {
	return &wire.Request{
		Service: wire.EC2, Operation: operation, Form: form, Header: http.Header{"User-Agent": {"bench"}}, Region: "us-east-1", Remote: "127.0.0.1",
		Principal: wire.Identity{PrincipalARN: session, PrincipalID: "AROAX:test", Account: account},
	}
}

func BenchmarkPlainCall(b *testing.B) {
	s := start(b, read(b, "controller-v0.32.json"), read(b, "later.json"))
	r := request("DescribeInstances", url.Values{})
	for b.Loop() {
		if err := s.Permissions.Authorize(r.Principal, r.Action(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFleet judges a fleet of one template at sixty places: twenty types in three subnets.
func BenchmarkFleet(b *testing.B) {
	s := start(b, read(b, "controller-v0.32.json"), read(b, "later.json"))
	s.template("lt", s.profile("nodes"))
	form := url.Values{
		"Type": {"instant"}, "TargetCapacitySpecification.TotalTargetCapacity": {"1"}, "TargetCapacitySpecification.DefaultTargetCapacityType": {"on-demand"},
		"LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName": {"lt"},
		"LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version":            {"$Latest"},
	}
	n := 0
	for t := range 20 {
		for _, subnet := range s.subnets() {
			n++
			prefix := fmt.Sprintf("LaunchTemplateConfigs.1.Overrides.%d.", n)
			form.Set(prefix+"InstanceType", fmt.Sprintf("m%d.large", t))
			form.Set(prefix+"SubnetId", subnet)
		}
	}
	for k, kind := range []string{"instance", "volume", "fleet"} {
		prefix := fmt.Sprintf("TagSpecification.%d.", k+1)
		form.Set(prefix+"ResourceType", kind)
		for i, t := range tags() {
			form.Set(fmt.Sprintf("%sTag.%d.Key", prefix, i+1), *t.Key)
			form.Set(fmt.Sprintf("%sTag.%d.Value", prefix, i+1), *t.Value)
		}
	}
	for b.Loop() {
		r := request("CreateFleet", form)
		if err := s.Permissions.Authorize(r.Principal, r.Action(), r); err != nil || len(r.Refused) > 0 {
			b.Fatal(err, r.Refused)
		}
	}
}
