package image

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// How long the value of a parameter is believed: dated names never change, the newest image does now and then, a user's
// parameter at any time.
const (
	pinnedAge = 24 * time.Hour
	movingAge = 30 * time.Minute
	customAge = 5 * time.Minute
)

// parameter is the last answer on a parameter; an empty id means that it does not exist.
type parameter struct {
	id string
	at time.Time
	// doubtful values are read again soon.
	doubtful bool
}

// reading is what is known of a parameter: the image that it names, empty when there is no such parameter. With an error,
// the image is what it named when it could last be read, empty when that is not known.
type reading struct {
	id  string
	err error
}

// readAll reads the parameters of variants, each once and all at the same time.
func (r *Resolver) readAll(ctx context.Context, variants []variant) []reading {
	results := map[string]*reading{}
	var g guard.Group
	for _, v := range variants {
		if results[v.path] != nil {
			continue
		}
		age := pinnedAge
		if v.moves {
			age = movingAge
		}
		got := &reading{}
		results[v.path] = got
		g.Go("aws.images", func() error {
			got.err = guard.Run("aws.images", func() error { *got = r.read(ctx, v.path, age); return got.err })
			return nil
		})
	}
	_ = g.Wait() // each reading has its own
	out := make([]reading, len(variants))
	for i, v := range variants {
		out[i] = *results[v.path]
	}
	return out
}

// read looks a parameter up, unless its value is young enough. Who comes while it is being looked up waits for that.
func (r *Resolver) read(ctx context.Context, name string, age time.Duration) reading {
	if id, ok := r.young(name, age); ok {
		return reading{id: id}
	}
	got, _, _ := r.flights.Do("parameter "+name, func() (any, error) {
		if id, ok := r.young(name, age); ok { // the flight before this one
			return reading{id: id}, nil
		}
		return r.lookUp(ctx, name), nil
	})
	return got.(reading)
}

// young is the value of a parameter that is not older than age.
func (r *Resolver) young(name string, age time.Duration) (id string, ok bool) {
	now := r.now()
	r.mu.Lock()
	last, known := r.values[name]
	r.mu.Unlock()
	if known && last.id == "" || last.doubtful {
		age = min(age, time.Minute) // a missing parameter may be published any time
	}
	return last.id, known && now.Sub(last.at) < age
}

func (r *Resolver) lookUp(ctx context.Context, name string) reading {
	now := r.now()
	r.mu.Lock()
	last := r.values[name]
	r.mu.Unlock()
	out, err := r.parameters.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	id := ""
	switch {
	case err == nil && out.Parameter != nil:
		id = strings.TrimSpace(aws.ToString(out.Parameter.Value))
		if !strings.HasPrefix(id, "ami-") {
			return reading{last.id, fmt.Errorf("parameter %s holds %.40q, which is no image ID", name, id)}
		}
	case err != nil && cloud.ClassOf(awserr.Wrap("", err)) != cloud.NotFound:
		err = awserr.Wrap("reading parameter "+name, err)
		if last.id != "" {
			r.keep(name, err)
		}
		return reading{last.id, err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[name] = parameter{id: id, at: now}
	delete(r.told, name)
	return reading{id: id}
}

// forget has the parameter read again within a minute: the image that it named is gone, or deprecated.
func (r *Resolver) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.values[name]; ok {
		p.doubtful = true
		r.values[name] = p
	}
}
