package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// booting leaves out what pools have for the kubelet and the user data of their launch template, which stays, says
// otherwise: a class that holds both is refused (see package owntemplate), and it is the user data that the kubelet heard.
func (class *classDraft) booting(asked *awsv1.KubeletConfiguration, pools []*poolDraft) *awsv1.KubeletConfiguration {
	is, wanted := kubeletFields(class.booted), kubeletFields(asked)
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		held, both := is[k]
		if !both || reflect.DeepEqual(held, wanted[k]) {
			continue
		}
		for _, p := range pools {
			p.fields.lost(member(p.kubeletAt, k), fmt.Sprintf("it is %s, and the user data of the launch template says %s, which held and holds; a class with both is refused", brief(wanted[k]), brief(held)),
				"see that what the user data says is right, or change it"+inNewVersion)
		}
		delete(wanted, k)
	}
	if len(wanted) == 0 {
		return nil
	}
	raw, err := json.Marshal(wanted)
	out := &awsv1.KubeletConfiguration{}
	if err != nil || json.Unmarshal(raw, out) != nil {
		return asked
	}
	return out
}

// kubeletFields are those fields that are set.
func kubeletFields(k *awsv1.KubeletConfiguration) map[string]any {
	out := map[string]any{}
	if k == nil {
		return out
	}
	raw, err := json.Marshal(k)
	if err != nil || json.Unmarshal(raw, &out) != nil {
		return map[string]any{}
	}
	return out
}
