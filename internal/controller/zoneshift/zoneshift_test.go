package zoneshift

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

type shifts struct {
	list []cloud.ZoneShift
	err  error
}

func (s *shifts) ZoneShifts(context.Context) ([]cloud.ZoneShift, error) { return s.list, s.err }

func TestShiftsAreToldOfOncePerPool(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := karpv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	pools := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "b"}}).Build()
	events, log, from := record.NewFakeRecorder(100), &strings.Builder{}, &shifts{}
	c := &Controller{Client: pools, Shifts: from, Recorder: events, Log: slog.New(slog.NewTextHandler(log, nil)), Clock: clock.RealClock{}}
	notRegistered := &cloud.Error{Class: cloud.NotFound, Err: errors.New("unknown to ARC")}
	away := &cloud.Error{Class: cloud.Unavailable, Err: errors.New("timeout")}
	one := cloud.ZoneShift{ZoneID: "az1", Zone: "a", Until: time.Unix(0, 0)}
	auto := cloud.ZoneShift{ZoneID: "az2"}
	const active1 = "Warning ZonalShiftActive Traffic is shifted away from zone a (az1) until 1970-01-01T00:00:00Z: nothing is launched there, and its nodes are left alone"
	const active2 = "Warning ZonalShiftActive Traffic is shifted away from zone az2: nothing is launched there, and its nodes are left alone"
	const cleared1, cleared2 = "Normal ZonalShiftCleared Traffic is no longer shifted away from zone a (az1)", "Normal ZonalShiftCleared Traffic is no longer shifted away from zone az2"
	for i, step := range []struct {
		list   []cloud.ZoneShift
		err    error
		events []string // of each pool
		log    string   // empty: no warning
		wait   time.Duration
	}{
		{nil, notRegistered, nil, "not registered", unregistered},
		{nil, notRegistered, nil, "", unregistered},
		{nil, nil, nil, "", every},
		{[]cloud.ZoneShift{one}, nil, []string{active1}, "shifted away", every},
		{[]cloud.ZoneShift{one}, nil, nil, "", every},
		{nil, away, nil, "could not be read", every},
		{nil, away, nil, "", every},
		{[]cloud.ZoneShift{one, auto}, nil, []string{active2}, "az2", every},
		{[]cloud.ZoneShift{auto}, nil, []string{cleared1}, "", every},
		{nil, notRegistered, []string{cleared2}, "not registered", unregistered},
	} {
		log.Reset()
		from.list, from.err = step.list, step.err
		if wait := c.Look(t.Context()); wait != step.wait {
			t.Errorf("step %d: waits %s, want %s", i, wait, step.wait)
		}
		var got []string
		for len(events.Events) > 0 {
			got = append(got, <-events.Events)
		}
		want := slices.Concat(step.events, step.events)
		if !slices.Equal(got, want) {
			t.Errorf("step %d: events %q, want %q", i, got, want)
		}
		if warned := strings.Contains(log.String(), "WARN"); warned != (step.log != "") || !strings.Contains(log.String(), step.log) {
			t.Errorf("step %d: log %q, want %q", i, log, step.log)
		}
	}
}

type panics struct{ stop context.CancelFunc }

func (p panics) ZoneShifts(context.Context) ([]cloud.ZoneShift, error) {
	p.stop()
	panic("a zone that nobody knows")
}

func TestAPanicIsCountedAndEndsNothing(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	metrics := obs.NewMetrics(prometheus.NewRegistry())
	looks := 0
	c := &Controller{Shifts: panics{stop}, Metrics: metrics, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Looked: func() { looks++ }}
	if err := c.Start(ctx); err != nil || looks != 1 {
		t.Errorf("%v; told of %d looks, want 1", err, looks)
	}
	if n := testutil.ToFloat64(metrics.Panics.WithLabelValues("zoneshift")); n != 1 {
		t.Errorf("%v panics are counted", n)
	}
}
