package provision

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// slowTypes answers after a while with one type, named for the generation of the class that it was asked for.
type slowTypes struct {
	takes time.Duration
	calls int
}

func (s *slowTypes) Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	s.calls++
	select {
	case <-time.After(s.takes):
		return []*catalog.Type{{Name: string(rune('0' + class.Generation))}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestALateAnswerServesWhoAsksInAMoment(t *testing.T) {
	for name, tt := range map[string]struct {
		pause      time.Duration // from the first answer until the next who asks
		edited     bool          // the class, meanwhile
		gone       bool          // the one who asked first
		calls      int
		generation string
	}{
		"in a moment":                {pause: time.Second, calls: 1, generation: "1"},
		"though the first has gone":  {pause: time.Second, gone: true, calls: 1, generation: "1"},
		"an hour later":              {pause: time.Hour, calls: 2, generation: "1"},
		"once the class was changed": {pause: time.Second, edited: true, calls: 2, generation: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, told := &slowTypes{takes: typesPatience + time.Second}, 0
				r := newTypeReader(source, nil, func() { told++ })
				class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", Generation: 1}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if got := r.read(ctx, map[string]*awsv1.EC2NodeClass{"c": class})["c"]; got.err == nil {
					t.Fatal("it was not waited for, and is no error")
				}
				if tt.gone {
					cancel()
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if told != 1 {
					t.Errorf("told %d times that the answer is there", told)
				}
				time.Sleep(tt.pause)
				source.takes = 0
				if tt.edited {
					class = class.DeepCopy()
					class.Generation = 2
				}
				got := r.read(t.Context(), map[string]*awsv1.EC2NodeClass{"c": class})["c"]
				if got.err != nil || len(got.types) != 1 || got.types[0].Name != tt.generation || source.calls != tt.calls {
					t.Errorf("%d calls, got %v, %v; want %d and types of generation %s", source.calls, got.types, got.err, tt.calls, tt.generation)
				}
			})
		})
	}
}
