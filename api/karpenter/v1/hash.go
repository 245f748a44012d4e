package v1

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Hash returns the hash of those template fields whose change makes nodes of the pool drift:
// labels, annotations, taints, startupTaints, nodeClassRef, terminationGracePeriod and
// expireAfter. Order of lists and the way a duration is written do not matter.
//
// NodeClaims carry this hash in an annotation, so a value must stay the same for ever under one
// NodePoolHashVersion. Version v3 is what clusters hold already: a struct hash that mixes type and
// field names with the values and leaves out zero values. Each function below is one type of that
// encoding, its fields in their order.
//
// Source: golden values measured on a live controller of version 1.14.1; see hash_test.go.
func (p *NodePool) Hash() string {
	return strconv.FormatUint(hashTemplate(&p.Spec.Template), 10)
}

func hashTemplate(t *NodeClaimTemplate) uint64 {
	h := newStructHash("NodeClaimTemplate")
	if t.Labels != nil || t.Annotations != nil {
		meta := newStructHash("ObjectMeta")
		meta.addMap("Labels", t.Labels)
		meta.addMap("Annotations", t.Annotations)
		h.add("ObjectMeta", uint64(meta))
	}
	if spec, zero := hashTemplateSpec(&t.Spec); !zero {
		h.add("Spec", spec)
	}
	return uint64(h)
}

func hashTemplateSpec(s *NodeClaimTemplateSpec) (hash uint64, zero bool) {
	h := newStructHash("NodeClaimTemplateSpec")
	zero = s.Requirements == nil
	if s.Taints != nil {
		h.add("Taints", hashTaints(s.Taints))
		zero = false
	}
	if s.StartupTaints != nil {
		h.add("StartupTaints", hashTaints(s.StartupTaints))
		zero = false
	}
	if r := s.NodeClassRef; r != nil {
		ref := newStructHash("NodeClassReference")
		ref.addString("Kind", r.Kind)
		ref.addString("Name", r.Name)
		ref.addString("Group", r.Group)
		h.add("NodeClassRef", uint64(ref))
		zero = false
	}
	if d := s.TerminationGracePeriod; d != nil {
		period := newStructHash("Duration")
		if d.Duration != 0 {
			period.add("Duration", hashDuration(d.Duration))
		}
		h.add("TerminationGracePeriod", uint64(period))
		zero = false
	}
	if d := s.ExpireAfter.Duration; d != nil {
		expire := newStructHash("NillableDuration")
		expire.add("Duration", hashDuration(*d))
		h.add("ExpireAfter", uint64(expire))
		zero = false
	}
	return uint64(h), zero
}

// hashTaints leaves out timeAdded, which says when a taint came, not what it is.
func hashTaints(taints []corev1.Taint) uint64 {
	var sum uint64
	for i := range taints {
		t := newStructHash("Taint")
		t.addString("Key", taints[i].Key)
		t.addString("Value", taints[i].Value)
		t.addString("Effect", string(taints[i].Effect))
		sum ^= uint64(t)
	}
	return sum
}

// structHash is the running hash of a struct.
type structHash uint64

func newStructHash(typeName string) structHash { return structHash(hashText(typeName)) }

// add mixes in one field.
func (h *structHash) add(field string, value uint64) {
	*h = structHash(hashWords(uint64(*h) ^ hashWords(hashText(field), value)))
}

func (h *structHash) addString(field, value string) {
	if value != "" {
		h.add(field, hashText(value))
	}
}

func (h *structHash) addMap(field string, m map[string]string) {
	if m == nil {
		return
	}
	var sum uint64
	for k, v := range m {
		sum ^= hashWords(hashText(k), hashText(v))
	}
	h.add(field, hashWords(sum))
}

func hashText(s string) uint64 {
	h := fnv.New64()
	h.Write([]byte(s))
	return h.Sum64()
}

func hashDuration(d time.Duration) uint64 { return hashWords(uint64(d)) }

func hashWords(words ...uint64) uint64 {
	h := fnv.New64()
	var b [8]byte
	for _, w := range words {
		binary.LittleEndian.PutUint64(b[:], w)
		h.Write(b[:])
	}
	return h.Sum64()
}
