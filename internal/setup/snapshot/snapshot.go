// Package snapshot reads what a cluster consists of, with rights to list only, and keeps it in one file that can be audited and
// simulated elsewhere.
//
// The file is JSON, compressed with gzip when its name ends in .gz:
//
//	{"format": "kerf.sh/snapshot", "version": 1, "takenAt": …, "kubernetesVersion": …, "region": …, "gaps": […], "items": […]}
//
// The items are Kubernetes objects as the API server writes them, each with its apiVersion and kind, without what nobody needs:
// managed fields, environment, commands, probes, names of Secrets and ConfigMaps. What kubectl get -o json writes is read too.
package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
)

// Format and Version are what a file of this form begins with.
const (
	Format  = "kerf.sh/snapshot"
	Version = 1
)

// Snapshot is a cluster at one moment, as far as it could be read.
type Snapshot struct {
	// Kerf is the build that wrote the file.
	Kerf    string    `json:"kerf,omitempty"`
	TakenAt time.Time `json:"takenAt"`
	// TimeOf says what TakenAt is the time of where no snapshot was taken: "the file", or "reading it".
	TimeOf string `json:"timeOf,omitempty"`
	// Cluster is the name of the cluster or of the context of the kubeconfig; empty where it is not known, or names are hashed.
	Cluster string `json:"cluster,omitempty"`
	// FromKubectl is set where the objects are of kubectl get -o json: whoever ran it chose the kinds.
	FromKubectl bool `json:"fromKubectl,omitempty"`
	// KubernetesVersion is the API server's, such as v1.33.1; Region that of the nodes. Both are empty where not known.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	Region            string `json:"region,omitempty"`
	// Anonymized is set where names are hashed.
	Anonymized bool `json:"anonymized,omitempty"`
	// Gaps are the kinds that could not be read.
	Gaps []Gap `json:"gaps,omitempty"`

	Objects
}

// Gap is a kind that could not be read.
type Gap struct {
	Kind string `json:"kind"` // the resource, such as "poddisruptionbudgets"
	Why  string `json:"why"`
	// Absent is set where the cluster does not have the kind at all, which is no lack of rights.
	Absent bool `json:"absent,omitempty"`
	// Versions is set where objects of the kind were there in versions that are not read.
	Versions bool `json:"versions,omitempty"`
}

// Missing reports whether a resource could not be read though the cluster has it.
func (s *Snapshot) Missing(resource string) bool {
	for _, g := range s.Gaps {
		if g.Kind == resource && !g.Absent {
			return true
		}
	}
	return false
}

// OtherVersions says which objects of a resource were there and not read, for their version; empty: none.
func (s *Snapshot) OtherVersions(resource string) string {
	for _, g := range s.Gaps {
		if g.Kind == resource && g.Versions {
			return g.Why
		}
	}
	return ""
}

// Objects are the objects of a cluster, each kind sorted by namespace and name.
type Objects struct {
	Nodes           []*corev1.Node                  `json:"-"`
	Pods            []*corev1.Pod                   `json:"-"`
	Namespaces      []*corev1.Namespace             `json:"-"`
	NodePools       []*karpv1.NodePool              `json:"-"`
	NodeClaims      []*karpv1.NodeClaim             `json:"-"`
	NodeClasses     []*awsv1.EC2NodeClass           `json:"-"`
	NodeOverlays    []*v1alpha1.NodeOverlay         `json:"-"`
	Budgets         []*policyv1.PodDisruptionBudget `json:"-"`
	Deployments     []*appsv1.Deployment            `json:"-"`
	ReplicaSets     []*appsv1.ReplicaSet            `json:"-"`
	StatefulSets    []*appsv1.StatefulSet           `json:"-"`
	DaemonSets      []*appsv1.DaemonSet             `json:"-"`
	Jobs            []*batchv1.Job                  `json:"-"`
	CronJobs        []*batchv1.CronJob              `json:"-"`
	Volumes         []*corev1.PersistentVolume      `json:"-"`
	VolumeClaims    []*corev1.PersistentVolumeClaim `json:"-"`
	StorageClasses  []*storagev1.StorageClass       `json:"-"`
	CSINodes        []*storagev1.CSINode            `json:"-"`
	PriorityClasses []*schedulingv1.PriorityClass   `json:"-"`
	Usage           []*PodMetrics                   `json:"-"`
}

// header is what a file begins with.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	*Snapshot
}

// Write writes the snapshot as a file of this form, uncompressed.
func (s *Snapshot) Write(w io.Writer) error {
	head, err := json.Marshal(header{Format, Version, s})
	if err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(head, []byte("}")))
	b.WriteString(`,"items":[`)
	first := true
	for _, k := range kinds {
		for _, o := range k.all(&s.Objects) {
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteByte('\n')
			o.GetObjectKind().SetGroupVersionKind(k.gvk)
			one, err := json.Marshal(o)
			if err != nil {
				return fmt.Errorf("writing %s %s/%s: %w", k.gvk.Kind, o.GetNamespace(), o.GetName(), err)
			}
			b.Write(one)
			if b.Len() > 1<<20 {
				if _, err := b.WriteTo(w); err != nil {
					return fmt.Errorf("writing a snapshot: %w", err)
				}
			}
		}
	}
	b.WriteString("\n]}\n")
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	return nil
}

// Encode is the file of the snapshot under a name: compressed when that ends in .gz.
func (s *Snapshot) Encode(name string) ([]byte, error) {
	var b bytes.Buffer
	if !strings.HasSuffix(name, ".gz") {
		err := s.Write(&b)
		return b.Bytes(), err
	}
	z := gzip.NewWriter(&b)
	err := errors.Join(s.Write(z), z.Close())
	return b.Bytes(), err
}

// ReadFile reads a file of this form or of kubectl get -o json, compressed or not, whatever its name.
//
// Errors name the file, and what in it is not as it should be.
func ReadFile(name string) (*Snapshot, error) {
	f, err := os.Open(name)
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok { // without the name of the system call
			err = p.Err
		}
		return nil, fmt.Errorf("reading the snapshot %s: %w", name, err)
	}
	defer f.Close()
	s, timeless, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if timeless && s.FromKubectl {
		if info, err := f.Stat(); err == nil {
			s.TakenAt, s.TimeOf = info.ModTime().UTC().Truncate(time.Second), "the file"
		}
	}
	return s, nil
}
