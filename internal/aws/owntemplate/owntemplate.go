// Package owntemplate reads launch templates that users made, and says what instances that are launched from them will be:
// which image they boot, how large their disks are, and what their user data tells the kubelet.
//
// A version of a launch template never changes. What was read once therefore holds for ever; only which version stands
// behind $Default and $Latest has to be asked again.
package owntemplate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Option is the option of kerf stack that allows what this needs.
const Option = "--launch-templates"

// age is how long it is believed which version stands behind a reference.
const age = 5 * time.Second

// maxKept bounds how many versions are remembered.
const maxKept = 256

// Reader reads versions of launch templates.
//
// Concurrency: safe. No lock is held over a call.
type Reader struct {
	api     launchtemplate.VersionAPI
	cluster string
	now     func() time.Time

	mu       sync.Mutex
	versions map[string]*Template // by awsv1.LaunchTemplate.Ref
	behind   map[string]answer    // by reference
}

type answer struct {
	template *Template
	at       time.Time
}

// NewReader makes a Reader that knows of no template. cluster is the name of the cluster that user data must join.
func NewReader(api launchtemplate.VersionAPI, cluster string, now func() time.Time) *Reader {
	return &Reader{api: api, cluster: cluster, now: now, versions: map[string]*Template{}, behind: map[string]answer{}}
}

// Resolve finds the version that a class names and judges it. The finding is on LaunchTemplateReady; the template is nil
// unless it is one that instances can be launched from. While EC2 can't be asked the version of the status stays, and so it
// does when the template is gone: what runs was launched from it.
func (r *Reader) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*Template, cloud.Finding) {
	ref := class.Spec.LaunchTemplate
	t, err := r.find(ctx, ref)
	if err != nil {
		return nil, r.unread(class, err)
	}
	no := func(reason string, problems []string) cloud.Finding {
		return cloud.Finding{Condition: awsv1.ConditionTypeLaunchTemplateReady, Reason: reason, Message: fmt.Sprintf(
			"EC2NodeClass %s: version %d of launch template %s: %s", class.Name, t.Number, t.called(), strings.Join(problems, "; "))}
	}
	if problems := append(t.refused(), t.contradicted(class.Spec.Kubelet)...); len(problems) > 0 {
		return nil, no(awsv1.ReasonLaunchTemplateInvalid, problems)
	}
	if problems := t.strays(r.cluster); len(problems) > 0 {
		return nil, no(awsv1.ReasonLaunchTemplateUserDataInvalid, problems)
	}
	return t, cloud.Finding{
		Condition: awsv1.ConditionTypeLaunchTemplateReady, OK: true, Reason: awsv1.ConditionTypeLaunchTemplateReady,
		Message: fmt.Sprintf("version %d of launch template %s; %s", t.Number, t.called(), t.summary()),
	}
}

// unread is the finding while a version can't be read.
func (r *Reader) unread(class *awsv1.EC2NodeClass, err error) cloud.Finding {
	f := cloud.Finding{Condition: awsv1.ConditionTypeLaunchTemplateReady, Message: fmt.Sprintf("EC2NodeClass %s: spec.launchTemplate: %v", class.Name, err)}
	switch class := cloud.ClassOf(err); {
	case class == cloud.NotFound, class == cloud.Invalid:
		f.Reason = awsv1.ReasonLaunchTemplateNotFound
		f.Message += "; make it anew or name another: nothing can be launched, and instances that run are left alone"
	case awserr.LacksPermission(err):
		f.Reason = awsv1.ReasonLaunchTemplateReadDenied
		f.Message += Hint
	default:
		f.Unknown, f.Reason = true, awsv1.ReasonLaunchTemplateUnreadable
	}
	return f
}

// Hint says what a refusal of AWS may be due to.
const Hint = "; launch templates of yours need permissions of their own: deploy the stack with " + Option +
	" (kerf stack " + Option + "), and give the template the tag karpenter.sh/discovery with the cluster's name as its value"

// Forget has all references looked up anew: something that was there is not.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = map[string]answer{}
}

// find is the version behind a reference.
func (r *Reader) find(ctx context.Context, ref *awsv1.LaunchTemplateReference) (*Template, error) {
	key := ref.NameOrID() + ":" + ref.VersionOrDefault()
	r.mu.Lock()
	last, ok := r.behind[key]
	r.mu.Unlock()
	if ok && r.now().Sub(last.at) < age {
		return last.template, nil
	}
	t, err := r.read(ctx, ref.NameOrID(), ref.VersionOrDefault())
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		delete(r.behind, key)
		return nil, err
	}
	if len(r.behind) >= maxKept {
		r.behind = map[string]answer{}
	}
	r.behind[key] = answer{t, r.now()}
	return t, nil
}

// Version is a version that was resolved before, be it by another process.
//
// Errors: *cloud.Error.
func (r *Reader) Version(ctx context.Context, v *awsv1.LaunchTemplate) (*Template, error) {
	if v == nil {
		return nil, &cloud.Error{Op: "reading the launch template", Class: cloud.ClassNotReady, Reason: awsv1.ReasonLaunchTemplateNotFound,
			Err: errors.New("it has not been found yet")}
	}
	r.mu.Lock()
	t := r.versions[v.Ref()]
	r.mu.Unlock()
	if t != nil {
		return t, nil
	}
	return r.read(ctx, v.ID, strconv.FormatInt(v.Version, 10))
}

func (r *Reader) read(ctx context.Context, name, version string) (*Template, error) {
	v, err := launchtemplate.ReadVersion(ctx, r.api, name, version)
	if err != nil {
		return nil, awserr.Wrap("reading a launch template", err)
	}
	t := parse(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.versions[t.Status().Ref()]; known != nil {
		return known, nil
	}
	if len(r.versions) >= maxKept {
		r.versions = map[string]*Template{}
	}
	r.versions[t.Status().Ref()] = t
	return t, nil
}
