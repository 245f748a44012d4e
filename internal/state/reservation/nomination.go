package reservation

import "k8s.io/apimachinery/pkg/types"

// MostNominations is how often a pod is nominated at most: the scheduler takes a nomination away each time that it looks at
// the pod while the node takes no pods yet.
const MostNominations = 5

// nomination is the node that Kerf has asked the scheduler to try first for a pod.
type nomination struct {
	node  string
	times int
	lost  bool // it was taken away or could not be written, and was not written again yet
}

// Nominate notes that a pod is nominated to a node now, and reports whether that has to be written: not when it was written
// already and stands, nor when it was written too often.
func (t *Table) Nominate(pod types.UID, node string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nominations[pod]
	if n == nil || n.node != node {
		n = &nomination{node: node, lost: true}
		t.nominations[pod] = n
	}
	if !n.lost || n.times >= MostNominations {
		return false
	}
	n.times++
	n.lost = false
	return true
}

// LoseNomination notes that a pod's nomination was taken away or could not be written, and reports whether there was one. It
// counts as one of the times all the same.
func (t *Table) LoseNomination(pod types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nominations[pod]
	if n == nil {
		return false
	}
	n.lost = true
	return true
}

// Nominated reports whether Kerf's nomination of a pod to a node stands.
func (t *Table) Nominated(pod types.UID, node string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nominations[pod]
	return n != nil && n.node == node && !n.lost
}

// ForgetNomination forgets a pod that is bound or gone.
func (t *Table) ForgetNomination(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.nominations, pod)
}
