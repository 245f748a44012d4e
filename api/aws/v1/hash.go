package v1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

// EC2NodeClassHashVersion is the version of EC2NodeClass.Hash. It is Kerf's own, so that hashes of
// other controllers are stamped anew at a take-over instead of being read as drift. It changes
// whenever the same stored class would hash to another value.
const EC2NodeClassHashVersion = "kerf-v1"

// Hash returns the hash of those fields whose change makes nodes of the class drift, together with
// what else decides how a node boots: the AMI family, whichever way the class names it, and the
// cluster's CA bundle. Order of lists does not matter.
//
// Left out are the selectors of subnets, security groups, capacity reservations and images, and the
// reference to a launch template: a node drifts when what they select changes, not when they are
// reworded.
func (c *EC2NodeClass) Hash(caBundle string) string {
	spec := c.Spec.DeepCopy()
	spec.SubnetSelectorTerms = nil
	spec.SecurityGroupSelectorTerms = nil
	spec.CapacityReservationSelectorTerms = nil
	spec.AMISelectorTerms = nil
	spec.LaunchTemplate = nil
	spec.AMIFamily = new(c.ResolvedAMIFamily())
	h := fnv.New64a()
	h.Write(canonical(hashed{spec, nil, nil}))
	h.Write([]byte{0})
	h.Write([]byte(caBundle))
	return strconv.FormatUint(h.Sum64(), 10)
}

// hashed writes the selectors that were once required as they always were written: as null.
type hashed struct {
	*EC2NodeClassSpec
	AMISelectorTerms           any `json:"amiSelectorTerms"`
	SecurityGroupSelectorTerms any `json:"securityGroupSelectorTerms"`
}

// canonical returns v as JSON with the keys of objects and the items of lists in order.
func canonical(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("an API type cannot be written as JSON: %v", err))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		panic(fmt.Sprintf("JSON of an API type cannot be read back: %v", err))
	}
	return encode(order(tree))
}

// order sorts the items of every list in the tree.
func order(tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		for key, value := range t {
			t[key] = order(value)
		}
	case []any:
		for i := range t {
			t[i] = order(t[i])
		}
		slices.SortFunc(t, func(a, b any) int { return cmp.Compare(string(encode(a)), string(encode(b))) })
	}
	return tree
}

func encode(tree any) []byte {
	text, err := json.Marshal(tree)
	if err != nil {
		panic(fmt.Sprintf("a tree of JSON values cannot be written: %v", err))
	}
	return text
}
