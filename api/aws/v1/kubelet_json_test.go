package v1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	v1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// What a newer controller understands is read, kept and written again, whatever its type.
func TestKubeletFieldsThatAreNotListedAreKept(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		others []string
	}{
		"listed":          {text: `{"clusterDNS":["10.0.0.10"],"maxPods":20,"kubeReserved":{"cpu":"1"},"cpuCFSQuota":false}`},
		"not listed":      {text: `{"maxPods":20,"registryPullQPS":10,"featureGates":{"x":true}}`, others: []string{"registryPullQPS", "featureGates"}},
		"of another type": {text: `{"maxPods":"min(110, vcpus * 20)","kubeReserved":{"cpu":1},"podsPerCore":2}`, others: []string{"maxPods", "kubeReserved"}},
		"empty":           {text: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			var spec v1.EC2NodeClassSpec
			if err := json.Unmarshal([]byte(`{"kubelet":`+tc.text+`}`), &spec); err != nil {
				t.Fatal(err)
			}
			if len(spec.Kubelet.Others) != len(tc.others) {
				t.Errorf("others are %v, want %v", spec.Kubelet.Others, tc.others)
			}
			for _, o := range tc.others {
				if _, ok := spec.Kubelet.Others[o]; !ok {
					t.Errorf("%s is not among the others", o)
				}
			}
			written, err := json.Marshal(spec.DeepCopy().Kubelet)
			if err != nil {
				t.Fatal(err)
			}
			var was, is any
			if json.Unmarshal([]byte(tc.text), &was) != nil || json.Unmarshal(written, &is) != nil || !reflect.DeepEqual(was, is) {
				t.Errorf("read %s, written %s", tc.text, written)
			}
		})
	}
	var spec v1.EC2NodeClassSpec
	if err := json.Unmarshal([]byte(`{"kubelet":5}`), &spec); err == nil {
		t.Error("a number is a kubelet's configuration")
	}
}
