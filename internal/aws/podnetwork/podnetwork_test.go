package podnetwork

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

func daemon(containerName string, env ...corev1.EnvVar) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "aws-eks-nodeagent"}, {Name: containerName, Env: env}}
	return d
}

func TestReadingTheDaemonSet(t *testing.T) {
	value := func(name, v string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: v} }
	for name, c := range map[string]struct {
		of   *appsv1.DaemonSet
		want Settings
	}{
		"the add-on's own defaults": {daemon("aws-node", value("ENABLE_PREFIX_DELEGATION", "false"), value("AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", "false"), value("ENABLE_POD_ENI", "false"), value("ENABLE_IPv6", "false"), value("WARM_ENI_TARGET", "1")), Settings{}},
		"everything on":             {daemon("aws-node", value("ENABLE_PREFIX_DELEGATION", "true"), value("AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", "true"), value("ENABLE_POD_ENI", "true"), value("ENABLE_IPv6", "true"), value("MAX_ENI", "4")), Settings{true, true, true, true, 4}},
		"texts that mean nothing":   {daemon("aws-node", value("ENABLE_PREFIX_DELEGATION", "yes please"), value("MAX_ENI", "many"), value("ENABLE_POD_ENI", "")), Settings{}},
		"MAX_ENI -1 is no bound":    {daemon("aws-node", value("MAX_ENI", "-1")), Settings{}},
		"another container's":       {daemon("sidecar", value("ENABLE_PREFIX_DELEGATION", "true")), Settings{}},
		"a value from elsewhere": {daemon("aws-node", corev1.EnvVar{Name: "ENABLE_PREFIX_DELEGATION", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "on"}}}), Settings{}},
		"nothing at all": {&appsv1.DaemonSet{}, Settings{}},
	} {
		if diff := cmp.Diff(c.want, Read(c.of)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func known(t *testing.T, name string) *ec2facts.Type {
	t.Helper()
	f, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	out, ok := f.Type(name)
	if !ok {
		t.Fatalf("no facts on %s", name)
	}
	return out
}

// What AWS's max-pods-calculator gives for the same arguments.
func TestPods(t *testing.T) {
	prefixes, custom, podENI, v6 := Settings{PrefixDelegation: true}, Settings{CustomNetworking: true}, Settings{PodENI: true}, Settings{PrefixDelegation: true, IPv6: true}
	for name, c := range map[string]struct {
		instanceType    string
		settings        Settings
		taken, reserved int
		want            int64
	}{
		"secondary addresses":                         {"m5.large", Settings{}, 0, 0, 29},
		"prefixes: a small instance's ceiling":        {"m5.large", prefixes, 0, 0, 110},
		"prefixes: a large instance's ceiling":        {"m5.8xlarge", prefixes, 0, 0, 250},
		"prefixes: few addresses stay below it":       {"t3.nano", prefixes, 0, 0, 34},
		"prefixes on Xen stay secondary addresses":    {"m4.large", prefixes, 0, 0, 20},
		"prefixes on bare metal":                      {"m5.metal", prefixes, 0, 0, 250},
		"custom networking loses the first interface": {"m5.large", custom, 0, 0, 20},
		"custom networking with prefixes":             {"m5.large", Settings{PrefixDelegation: true, CustomNetworking: true}, 0, 0, 110},
		"reserved interfaces say the same":            {"m5.large", custom, 0, 1, 20},
		"more reserved interfaces count":              {"m5.large", custom, 0, 2, 11},
		"a trunk takes one interface":                 {"m5.large", podENI, 0, 0, 20},
		"a type without trunks loses none":            {"t3.large", podENI, 0, 0, 35},
		"interfaces of the class's own":               {"m5.large", Settings{}, 1, 0, 20},
		"a bound on interfaces":                       {"m5.large", Settings{MaxENI: 2}, 0, 0, 20},
		"a bound above the type's":                    {"m5.large", Settings{MaxENI: 9}, 0, 0, 29},
		"IPv6":                                        {"m5.large", v6, 0, 0, 110},
		"IPv6 on a large instance":                    {"m5.12xlarge", v6, 0, 0, 250},
		"nothing left":                                {"m5.large", custom, 2, 0, 0},
	} {
		if got := c.settings.Pods(known(t, c.instanceType), c.taken, c.reserved); got != c.want {
			t.Errorf("%s: %s runs %d pods, want %d", name, c.instanceType, got, c.want)
		}
	}
	if v6.Supported(known(t, "m4.large")) || !v6.Supported(known(t, "m5.metal")) || !prefixes.Supported(known(t, "m4.large")) {
		t.Error("IPv6 needs Nitro, and nothing else does")
	}
}

func TestSubnetAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		pods     int64
		want     int64
	}{
		"each pod beyond the host's takes one":    {Settings{}, 10, 8},
		"more than an interface carries":          {Settings{}, 12, 11},
		"all three interfaces":                    {Settings{}, 29, 29},
		"whole prefixes":                          {Settings{PrefixDelegation: true}, 5, 16},
		"seven prefixes":                          {Settings{PrefixDelegation: true}, 110, 112},
		"more prefixes than an interface carries": {Settings{PrefixDelegation: true}, 250, 257},
		"custom networking takes them elsewhere":  {Settings{CustomNetworking: true}, 29, 0},
		"IPv6 takes none":                         {Settings{IPv6: true}, 110, 0},
		"two pods use the instance's own address": {Settings{PrefixDelegation: true}, 2, 0},
		"no pods": {Settings{}, 0, 0},
	} {
		if got := c.settings.SubnetAddresses(known(t, "m5.large"), c.pods); got != c.want {
			t.Errorf("%s: %d pods take %d addresses, want %d", name, c.pods, got, c.want)
		}
	}
	if got := (Settings{}).SubnetAddresses(&ec2facts.Type{}, 29); got != 0 {
		t.Errorf("a type of which nothing is known takes %d", got)
	}
}

// Pods never exceed what the addresses of all usable interfaces carry, whatever the settings.
func TestEveryTypeUnderEverySetting(t *testing.T) {
	f, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	for bits := range 16 {
		s := Settings{PrefixDelegation: bits&1 > 0, CustomNetworking: bits&2 > 0, PodENI: bits&4 > 0, IPv6: bits&8 > 0}
		for i := range f.Types {
			x := &f.Types[i]
			got, plain := s.Pods(x, 0, 0), (Settings{}).Pods(x, 0, 0)
			if got < 0 || !s.PrefixDelegation && !s.IPv6 && got > plain {
				t.Errorf("%+v: %s runs %d pods, %d by interfaces alone", s, x.Name, got, plain)
			}
			if (s.PrefixDelegation && x.Hypervisor != "xen" || s.IPv6) && got > 250 {
				t.Errorf("%+v: %s runs %d pods", s, x.Name, got)
			}
			if a := s.SubnetAddresses(x, got); a < 0 || !s.IPv6 && !s.CustomNetworking && got > 2 && a < got-2 {
				t.Errorf("%+v: %d pods of %s take %d addresses", s, got, x.Name, a)
			}
		}
	}
}
