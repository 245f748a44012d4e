// Package changeplan tells what a change of NodePools, EC2NodeClasses or images would do to the nodes of a cluster before it is
// made: which nodes would be replaced and why, field by field, which would not, by what, in which order, how long that takes
// under the disruption budgets, what stands in the way, and what it costs.
//
// It changes nothing. What classes select is resolved as the controller resolves it, differences are found by the
// comparisons that mark nodes as drifted, and replacements by the search that replaces them.
package changeplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/provision"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Cloud is the part of a cloud.Provider that is asked.
type Cloud interface {
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*cloud.Resolution, error)
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
	List(ctx context.Context, maxAge time.Duration) ([]*cloud.Instance, error)
	// Subnets are the rooms of a class for addresses.
	Subnets(class *awsv1.EC2NodeClass) []cluster.Subnet
}

// Options of a look. Kubernetes and Cloud are required.
type Options struct {
	Cluster    string
	Kubernetes client.Client // only reads and dry runs are asked of it
	Cloud      Cloud
	// ReservedCapacity is the feature gate of that name.
	ReservedCapacity bool
	// Documents are the changed objects; none asks what is drifted as things are.
	Documents []*Document
	// Images take the place of what classes select their images by; Classes are those that it is done for, none for all.
	Images  []string
	Classes []string
	// Gaps are what the caller leaves out, with what follows; the report tells them with its own.
	Gaps  []string
	Cache cache.Options
	Pack  pack.Options
	Now   time.Time
}

// ErrRefused is in the chain of the error when a changed object is refused.
var ErrRefused = errors.New("the change is refused")

// look is a look in its course.
type look struct {
	Options
	seen      *seen
	now       *view // as things are
	then      *view // as they will be
	instances map[string]*cloud.Instance
	changes   []Change
	gaps      []string
	limits    map[string]string // of pools that are full, why
	report    *Report
}

// Look reads the cluster and the cloud and makes the report.
//
// Errors: what could not be read that there is no plan without; ErrRefused with each place that is wrong.
func Look(ctx context.Context, o Options) (*Report, error) {
	l := &look{Options: o, report: &Report{Cluster: o.Cluster, At: o.Now.UTC(), Currency: cmp.Or(o.Pack.Currency, "USD")}}
	var err error
	if l.seen, err = read(ctx, o.Kubernetes, cache.New(o.Cache)); err != nil {
		return nil, err
	}
	l.gaps = slices.Concat(o.Gaps, l.seen.gaps)
	if err := l.change(ctx); err != nil {
		return nil, err
	}
	if err := l.resolve(ctx); err != nil {
		return nil, err
	}
	list, err := o.Cloud.List(ctx, 0)
	if err != nil {
		l.gaps = append(l.gaps, fmt.Sprintf("instances could not be listed (%v): whether their subnets and security groups differ is not known", err))
	}
	l.instances = map[string]*cloud.Instance{}
	for _, m := range list {
		l.instances[m.ProviderID] = m
	}
	l.tell(ctx)
	return l.report, nil
}

// change takes the changed objects into the view of what will be.
func (l *look) change(ctx context.Context) error {
	snapshot := l.seen.state.Snapshot()
	l.now = &view{snapshot: snapshot, pools: maps.Clone(l.seen.pools), classes: maps.Clone(l.seen.classes), unready: map[string][]string{}}
	l.then = &view{snapshot: snapshot, pools: maps.Clone(l.seen.pools), classes: maps.Clone(l.seen.classes), unready: map[string][]string{}}
	var errs []error
	for _, d := range l.Documents {
		c, err := l.changed(ctx, d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.changes = append(l.changes, c)
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w:\n%w", ErrRefused, errors.Join(errs...))
	}
	return l.useImages()
}

func (l *look) changed(ctx context.Context, d *Document) (Change, error) {
	c := Change{Kind: d.Kind, Name: d.Name, From: d.from()}
	var err error
	if d.Kind == KindPool {
		old, now := l.seen.pools[d.Name], &karpv1.NodePool{}
		if old == nil {
			c.Unchecked, err = d.admit(ctx, l.Kubernetes, nil, now)
		} else {
			c.Unchecked, err = d.admit(ctx, l.Kubernetes, old, now)
		}
		if err == nil {
			err = d.judge(now)
		}
		if err != nil {
			return c, err
		}
		l.then.pools[d.Name], c.Fields = now, poolFields(old, now)
		return c, nil
	}
	old, now := l.seen.classes[d.Name], &awsv1.EC2NodeClass{}
	if old == nil {
		c.Unchecked, err = d.admit(ctx, l.Kubernetes, nil, now)
	} else {
		c.Unchecked, err = d.admit(ctx, l.Kubernetes, old, now)
	}
	if err == nil {
		err = d.judge(now)
	}
	if err != nil {
		return c, err
	}
	l.setClass(old, now)
	c.Fields = classFields(old, now)
	return c, nil
}

// setClass takes a changed class in. Its hash is compared with the old one's here, not with what this process would write:
// the certificate authority of the cluster is part of that, and known to the controller for sure only.
func (l *look) setClass(old, now *awsv1.EC2NodeClass) {
	now = now.DeepCopy()
	if old != nil && old.Hash("") != now.Hash("") {
		if now.Annotations == nil {
			now.Annotations = map[string]string{}
		}
		now.Annotations[awsv1.AnnotationEC2NodeClassHash] = "changed-" + now.Hash("")
	}
	if old != nil && old.Generation == now.Generation && len(differences("spec", tree(old)["spec"], tree(now)["spec"])) > 0 {
		now.Generation++ // as the API server would
	}
	l.then.classes[now.Name] = now
}

// useImages puts the given images in the place of what classes select theirs by.
func (l *look) useImages() error {
	if len(l.Images) == 0 {
		return nil
	}
	of := l.Classes
	if len(of) == 0 {
		of = slices.Sorted(maps.Keys(l.then.classes))
	}
	for _, name := range of {
		class := l.then.classes[name]
		if class == nil {
			return fmt.Errorf("%w: there is no EC2NodeClass %q", ErrRefused, name)
		}
		if class.Spec.LaunchTemplate != nil {
			if len(l.Classes) > 0 {
				return fmt.Errorf("%w: EC2NodeClass %q has its image from a launch template: plan a new version of that", ErrRefused, name)
			}
			continue
		}
		changed := class.DeepCopy()
		changed.Spec.AMIFamily = new(class.ResolvedAMIFamily()) // an alias said it until now
		changed.Spec.AMISelectorTerms = nil
		for _, id := range l.Images {
			changed.Spec.AMISelectorTerms = append(changed.Spec.AMISelectorTerms, awsv1.AMISelectorTerm{ID: id})
		}
		if changed.Generation == l.seen.generation(name) {
			changed.Generation++
		}
		l.then.classes[name] = changed
		c := Change{Kind: KindClass, Name: name, From: "--image", Fields: classFields(class, changed)}
		// What the alias said is said in words now; no node differs by it.
		c.Fields = slices.DeleteFunc(c.Fields, func(f Field) bool { return f.Path == "spec.amiFamily" && f.Effect == NoDrift })
		if i := slices.IndexFunc(l.changes, func(o Change) bool { return o.Kind == c.Kind && o.Name == c.Name }); i >= 0 {
			l.changes[i].Fields, l.changes[i].From = append(l.changes[i].Fields, c.Fields...), l.changes[i].From+", --image"
			continue
		}
		l.changes = append(l.changes, c)
	}
	return nil
}

func (s *seen) generation(class string) int64 {
	if c := s.classes[class]; c != nil {
		return c.Generation
	}
	return 0
}

// resolve finds what classes select, before and after.
func (l *look) resolve(ctx context.Context) error {
	r := &resolver{cloud: l.Cloud, reserved: l.ReservedCapacity}
	for _, name := range slices.Sorted(maps.Keys(l.then.classes)) {
		stored, then := l.seen.classes[name], l.then.classes[name]
		if stored != nil {
			resolved, unready, err := r.resolve(ctx, stored)
			if err != nil {
				return err
			}
			l.now.classes[name], l.now.unready[name] = resolved, unready
		}
		if then == stored {
			l.then.classes[name], l.then.unready[name] = l.now.classes[name], l.now.unready[name]
		} else {
			resolved, unready, err := r.resolve(ctx, then)
			if err != nil {
				return err
			}
			l.then.classes[name], l.then.unready[name] = resolved, unready
		}
		l.noteFound(name, stored)
	}
	l.gaps = append(l.gaps, r.gaps...)
	l.now.settle()
	l.then.settle()
	l.list(ctx, l.now)
	l.list(ctx, l.then)
	return nil
}

// noteFound tells what a class will select that it did not when the controller last looked.
func (l *look) noteFound(name string, stored *awsv1.EC2NodeClass) {
	i := slices.IndexFunc(l.changes, func(c Change) bool { return c.Kind == KindClass && c.Name == name })
	var fields []Field
	if stored != nil {
		fields = found(stored, l.then.classes[name])
	}
	problems := l.then.unready[name]
	if i < 0 && len(fields) == 0 && len(problems) == 0 {
		return
	}
	if i < 0 {
		i = len(l.changes)
		l.changes = append(l.changes, Change{Kind: KindClass, Name: name, From: "what it selects in AWS now"})
	}
	l.changes[i].Fields, l.changes[i].Problems = append(l.changes[i].Fields, fields...), problems
}

// problem is what a decision would be made of.
func (l *look) problem(ctx context.Context, v *view) *pack.Problem {
	p := &provision.Problems{State: v, Types: l.Cloud, Subnets: l.Cloud.Subnets, Pack: l.Pack, Now: func() time.Time { return l.Now }, Late: func() {}}
	return p.Problem(ctx, v.snapshot)
}
