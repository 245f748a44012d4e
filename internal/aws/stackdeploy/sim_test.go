package stackdeploy_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const queueTemplate = `
Parameters:
  Name: {Type: String}
  Retention: {Type: Number, Default: 300}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Ref Name, MessageRetentionPeriod: !Ref Retention}
Outputs:
  ARN: {Value: !GetAtt Queue.Arn}
`

func TestAStackLivesAndDies(t *testing.T) {
	sim, err := awssim.New(awssim.Options{NoQueue: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() { _ = sim.Close() })
	s, err := session.New(t.Context(), session.Options{Explicit: &session.Explicit{
		Region: sim.World.Region(), Endpoint: sim.URL(), AccessKeyID: world.DefaultAdminAccessKey, SecretAccessKey: world.DefaultAdminSecretKey,
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"ARN": sim.World.QueueARN("q")}
	deploy := func(params map[string]string) (map[string]string, error) {
		return stackdeploy.Deploy(t.Context(), s, "st", queueTemplate, params, map[string]string{"team": "a"})
	}
	retention := func() string {
		a, err := sim.World.QueueAttributes("q")
		if err != nil {
			t.Fatal(err)
		}
		return a["MessageRetentionPeriod"]
	}
	if got, err := deploy(map[string]string{"Name": "q"}); err != nil || !cmp.Equal(got, want) {
		t.Fatalf("creating: %v, %v", got, err)
	}
	if got, err := deploy(map[string]string{"Retention": "600"}); err != nil || !cmp.Equal(got, want) || retention() != "600" {
		t.Fatalf("updating one parameter: %v, %v, retention %s", got, err, retention())
	}
	if got, err := deploy(nil); err != nil || !cmp.Equal(got, want) || retention() != "600" {
		t.Fatalf("updating nothing: %v, %v, retention %s", got, err, retention())
	}
	_, err = deploy(map[string]string{"Retention": "1"})
	if f, ok := errors.AsType[*stackdeploy.FailedError](err); !ok || len(f.Resources) != 1 || f.Resources[0].LogicalID != "Queue" || !strings.Contains(err.Error(), "MessageRetentionPeriod") {
		t.Errorf("an update that fails: %v", err)
	}
	if retention() != "600" {
		t.Errorf("after an update that failed the retention is %s", retention())
	}
	for range 2 {
		if err := stackdeploy.Delete(t.Context(), s, "st"); err != nil {
			t.Fatalf("deleting: %v", err)
		}
	}
	if names := sim.World.QueueNames(); len(names) > 0 {
		t.Errorf("queues are left: %v", names)
	}
}
