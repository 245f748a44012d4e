// Package image finds the machine images that a node class selects and says which instance types can boot them.
//
// An alias stands for the variants of a family (architectures, with and without accelerators), each behind a public SSM
// parameter; other terms name images, or filters on them, directly. What can't be read now is taken from what was read last,
// and only if there is no such thing is the outcome unknown: a throttled parameter must never look like a changed image.
package image

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/cloud"
)

// ImagesAPI is what Resolver needs of EC2.
type ImagesAPI interface {
	DescribeImages(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
}

// ParametersAPI is what Resolver needs of SSM.
type ParametersAPI interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// Resolver finds images. All methods may be called from many goroutines.
type Resolver struct {
	images     ImagesAPI
	parameters ParametersAPI
	refresh    time.Duration
	now        func() time.Time

	kept func(parameter string, err error)

	mu     sync.Mutex // guards the caches; never held over a call
	values map[string]parameter
	found  map[string]answer
	told   map[string]bool // parameters that kept was called for
	disks  map[string]Disks
}

// NewResolver returns a Resolver. refresh is how long an answer on images is believed (AMI_REFRESH_INTERVAL); now is the
// clock, nil for time.Now.
func NewResolver(images ImagesAPI, parameters ParametersAPI, refresh time.Duration, now func() time.Time) *Resolver {
	if now == nil {
		now = time.Now
	}
	return &Resolver{
		images: images, parameters: parameters, refresh: refresh, now: now, kept: func(string, error) {},
		values: map[string]parameter{}, found: map[string]answer{}, told: map[string]bool{}, disks: map[string]Disks{},
	}
}

// Kept sets who is told of parameters that can't be read while the image that they named before stays: of each once,
// until it can be read again. It is to be called before anything else, and f must not block.
func (r *Resolver) Kept(f func(parameter string, err error)) *Resolver {
	r.kept = f
	return r
}

func (r *Resolver) keep(parameter string, err error) {
	r.mu.Lock()
	told := r.told[parameter]
	r.told[parameter] = true
	r.mu.Unlock()
	if !told {
		r.kept(parameter, err)
	}
}

// candidate is an image with what a type must meet to boot it.
type candidate struct {
	id, name     string
	created      time.Time
	deprecated   bool
	requirements []corev1.NodeSelectorRequirement
}

// Resolve finds the images of a class on a cluster of a Kubernetes minor version ("1.35"), in the order that the status
// wants: newest first. The finding is on AMIsReady. When it is unknown, the images returned are the best that is known.
func (r *Resolver) Resolve(ctx context.Context, class *awsv1.EC2NodeClass, version string) ([]awsv1.AMI, cloud.Finding) {
	alias, err := class.Alias()
	if err != nil {
		return nil, no(awsv1.ReasonSpecInvalid, err.Error())
	}
	var candidates []candidate
	var missing []string
	if alias != nil {
		variants, err := variantsOf(*alias, version)
		if err != nil {
			return nil, no(awsv1.ReasonUnsupportedAlias, fmt.Sprintf("EC2NodeClass %s: spec.amiSelectorTerms: %v", class.Name, err))
		}
		candidates, missing, err = r.byAlias(ctx, variants, class.Status.AMIs)
		if err != nil {
			return class.Status.AMIs, unknown(fmt.Sprintf("looking up the images of alias %s: %v; the images found before stay", class.Spec.AMISelectorTerms[0].Alias, err))
		}
	} else {
		candidates, err = r.byTerms(ctx, class)
		if err != nil {
			return class.Status.AMIs, unknown(fmt.Sprintf("looking up the images of spec.amiSelectorTerms: %v; the images found before stay", err))
		}
	}
	amis := status(candidates)
	switch {
	case len(missing) > 0:
		return amis, unknown("these parameters could not be read, so it is not known which images some instance types boot; trying again: " + strings.Join(missing, "; "))
	case len(amis) == 0:
		return nil, no(awsv1.ReasonAMINotFound, notFound(class, alias, version))
	}
	return amis, cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, OK: true}
}

func notFound(class *awsv1.EC2NodeClass, alias *awsv1.Alias, version string) string {
	if alias != nil {
		return fmt.Sprintf("EC2NodeClass %s: there is no image of %s for Kubernetes %s; check the version in spec.amiSelectorTerms", class.Name, class.Spec.AMISelectorTerms[0].Alias, version)
	}
	return fmt.Sprintf("EC2NodeClass %s: spec.amiSelectorTerms selects no available x86_64 or arm64 image in this region; check ids, names, owners and tags", class.Name)
}

func no(reason, message string) cloud.Finding {
	return cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Reason: reason, Message: message}
}

func unknown(message string) cloud.Finding {
	return cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Unknown: true, Reason: "AMIResolutionFailed", Message: message}
}

// byAlias finds the image of each variant. A variant whose parameter can't be read keeps the image that the class had for
// it; one that never had any is reported as missing.
func (r *Resolver) byAlias(ctx context.Context, variants []variant, before []awsv1.AMI) (out []candidate, missing []string, err error) {
	ids, errs := r.readAll(ctx, variants)
	var ask []string
	for i := range variants {
		if errs[i] != nil {
			if ids[i] = idWith(before, variants[i].requirements); ids[i] == "" {
				missing = append(missing, errs[i].Error())
			} else {
				r.keep(variants[i].path, errs[i])
			}
		}
		if ids[i] != "" {
			ask = append(ask, ids[i])
		}
		// What the class has is asked for too, for the case that the parameter names an image that does not exist (yet).
		if old := idWith(before, variants[i].requirements); old != "" {
			ask = append(ask, old)
		}
	}
	if len(ask) == 0 {
		return nil, missing, nil
	}
	slices.Sort(ask)
	images, err := r.describe(ctx, query{ids: slices.Compact(ask)})
	if err != nil {
		return nil, missing, err
	}
	byID := map[string]candidate{}
	for _, c := range images {
		byID[c.id] = c
	}
	for i, v := range variants {
		c, ok := byID[ids[i]]
		if !ok && ids[i] != "" {
			c, ok = byID[idWith(before, v.requirements)]
		}
		if ok {
			c.requirements = v.requirements
			out = append(out, c)
		}
	}
	return out, missing, nil
}

// idWith is the image that a status has for a set of requirements.
func idWith(amis []awsv1.AMI, requirements []corev1.NodeSelectorRequirement) string {
	want := key(requirements)
	for i := range amis {
		if key(amis[i].Requirements) == want {
			return amis[i].ID
		}
	}
	return ""
}

// byTerms finds the images of terms that are no alias. Of a term's fields the id counts first, then the parameter.
func (r *Resolver) byTerms(ctx context.Context, class *awsv1.EC2NodeClass) ([]candidate, error) {
	var ids []string
	var queries []query
	for i, term := range class.Spec.AMISelectorTerms {
		switch {
		case term.ID != "":
			ids = append(ids, term.ID)
		case term.SSMParameter != "":
			id, err := r.read(ctx, term.SSMParameter, customAge)
			if err != nil {
				return nil, fmt.Errorf("spec.amiSelectorTerms[%d].ssmParameter: %w", i, err)
			}
			if id != "" {
				ids = append(ids, id)
			}
		default:
			queries = append(queries, queryOf(term))
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		queries = append(queries, query{ids: slices.Compact(ids)})
	}
	var out []candidate
	for _, q := range queries {
		found, err := r.describe(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
