package launchtemplate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// tagID is the tag of an instance in which EC2 names the template that it was launched from.
const tagID = "aws:ec2launchtemplate:id"

// pageSize is the most templates that EC2 lists at once.
const pageSize = 200

// API is what Store calls.
type API interface {
	CreateLaunchTemplate(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error)
	DeleteLaunchTemplate(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error)
	DescribeLaunchTemplates(context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error)
}

// Store knows which templates exist and makes those that don't.
//
// Concurrency: safe. Each template has its own lock; calls for different ones never wait for each other.
type Store struct {
	api     API
	cluster string
	now     func() time.Time

	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	lock chan struct{} // holds one token while a call for this template is under way

	// Guarded by Store.mu.
	exists   bool
	lastUsed time.Time
}

// NewStore makes a Store that knows of no template yet.
func NewStore(api API, cluster string, now func() time.Time) *Store {
	return &Store{api: api, cluster: cluster, now: now, entries: map[string]*entry{}}
}

// Ensure makes sure that a template exists and notes that it is used. It calls EC2 only for a template that it has not
// seen; many callers for one template make one call.
func (s *Store) Ensure(ctx context.Context, t *Template) error {
	if s.use(t.Name) {
		return nil
	}
	e := s.entry(t.Name)
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return awserr.Wrap(fmt.Sprintf("waiting for launch template %s", t.Name), ctx.Err())
	}
	if s.use(t.Name) {
		return nil
	}
	// No look-up first: the name is the content, so "already exists" is as good as having made it.
	_, err := s.api.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &t.Name,
		LaunchTemplateData: t.data,
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: t.tags}},
	})
	if err != nil && cloud.ClassOf(awserr.Wrap("", err)) != cloud.Conflict {
		return awserr.Wrap(fmt.Sprintf("creating launch template %s", t.Name), err)
	}
	s.markExisting(t.Name)
	return nil
}

// Check asks EC2 whether the template could be made, and makes nothing.
func (s *Store) Check(ctx context.Context, t *Template) error {
	_, err := s.api.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		DryRun:             new(true),
		LaunchTemplateName: &t.Name,
		LaunchTemplateData: t.data,
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: t.tags}},
	})
	if err == nil || awserr.IsDryRunOK(err) {
		return nil
	}
	return awserr.Wrap(fmt.Sprintf("checking whether launch template %s can be created", t.Name), err)
}

// Forget drops what is known of a template, after EC2 said that it does not exist.
func (s *Store) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		e.exists = false
	}
}

// Hydrate learns which templates of this cluster exist.
func (s *Store) Hydrate(ctx context.Context) error {
	found, err := s.list(ctx, s.clusterFilter())
	if err != nil {
		return err
	}
	for _, t := range found {
		s.mu.Lock()
		e := s.entryLocked(*t.LaunchTemplateName)
		e.exists = true
		s.mu.Unlock()
	}
	return nil
}

// Collect deletes the cluster's templates that were not used for maxIdle and returns how many. What other leaders used is told by
// the instances that they launched, all that are there. A template whose instances are gone and that is needed all the same is made
// again by Ensure.
func (s *Store) Collect(ctx context.Context, maxIdle time.Duration, instances []*cloud.Instance) (int, error) {
	launched := map[string]time.Time{}
	for _, m := range instances {
		if id := m.Tags[tagID]; m.LaunchedAt.After(launched[id]) {
			launched[id] = m.LaunchedAt
		}
	}
	found, err := s.list(ctx, s.clusterFilter())
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, t := range found {
		if s.now().Sub(s.lastUse(t, launched[*t.LaunchTemplateId])) <= maxIdle {
			continue
		}
		if err := s.delete(ctx, t); err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}

// Release deletes all templates of a node class.
func (s *Store) Release(ctx context.Context, class string) error {
	found, err := s.list(ctx, append(s.clusterFilter(), filter("tag:"+awsv1.TagNodeClass, class)))
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range found {
		errs = append(errs, s.delete(ctx, t))
	}
	return errors.Join(errs...)
}

func (s *Store) delete(ctx context.Context, t types.LaunchTemplate) error {
	e := s.entry(*t.LaunchTemplateName)
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.Forget(*t.LaunchTemplateName)
	began := s.now()
	_, err := s.api.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: t.LaunchTemplateId})
	if err = awserr.Wrap(fmt.Sprintf("deleting launch template %s", *t.LaunchTemplateName), err); err != nil && !cloud.IsNotFound(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.lastUsed.Before(began) { // else somebody waits for its lock to make it again
		delete(s.entries, *t.LaunchTemplateName)
	}
	return nil
}

func (s *Store) list(ctx context.Context, filters []types.Filter) ([]types.LaunchTemplate, error) {
	var out []types.LaunchTemplate
	pages := ec2.NewDescribeLaunchTemplatesPaginator(s.api, &ec2.DescribeLaunchTemplatesInput{
		Filters: filters, MaxResults: new(int32(pageSize)),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap(fmt.Sprintf("listing the launch templates of cluster %q", s.cluster), err)
		}
		for _, t := range page.LaunchTemplates {
			if t.LaunchTemplateName != nil && t.LaunchTemplateId != nil && strings.HasPrefix(*t.LaunchTemplateName, namePrefix) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

func (s *Store) clusterFilter() []types.Filter {
	return []types.Filter{filter("tag:"+awsv1.TagEKSCluster, s.cluster)}
}

func filter(name, value string) types.Filter {
	return types.Filter{Name: &name, Values: []string{value}}
}

// use notes the use of a template and reports whether it is known to exist.
func (s *Store) use(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entryLocked(name)
	e.lastUsed = s.now()
	return e.exists
}

func (s *Store) markExisting(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entryLocked(name).exists = true
}

func (s *Store) entry(name string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entryLocked(name)
}

func (s *Store) entryLocked(name string) *entry {
	e := s.entries[name]
	if e == nil {
		e = &entry{lock: make(chan struct{}, 1)}
		s.entries[name] = e
	}
	return e
}

// lastUse is when a template was used last, as far as is known: made, launched from, or asked for here.
func (s *Store) lastUse(t types.LaunchTemplate, launched time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := launched
	if e := s.entries[*t.LaunchTemplateName]; e != nil && e.lastUsed.After(last) {
		last = e.lastUsed
	}
	if t.CreateTime != nil && t.CreateTime.After(last) {
		last = *t.CreateTime
	}
	return last
}
