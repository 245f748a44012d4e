package ec2

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestStopInstances(t *testing.T) {
	s := start(t, nil)
	ids := s.launch(2, "on-demand", nil)
	s.clock.Advance(5 * time.Minute) // they run
	_, err := s.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: ids[:1], DryRun: aws.Bool(true)})
	wantCode(t, err, "DryRunOperation")
	out, err := s.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: ids[:1]})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.StoppingInstances); n != 1 || out.StoppingInstances[0].PreviousState.Name != types.InstanceStateNameRunning || out.StoppingInstances[0].CurrentState.Name != types.InstanceStateNameStopping {
		t.Fatalf("stopping %+v: want one that ran", out.StoppingInstances)
	}
	s.clock.Advance(5 * time.Minute)
	if out, err = s.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: ids[:1]}); err != nil || out.StoppingInstances[0].PreviousState.Name != types.InstanceStateNameStopped {
		t.Errorf("a second call gives %+v, %v: want that it is stopped", out, err)
	}
	states, err := s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{Filters: []types.Filter{filterOn("instance-state-name", "running")}})
	if err != nil || len(states.Reservations) != 1 || *states.Reservations[0].Instances[0].InstanceId != ids[1] {
		t.Errorf("running: %+v, %v; want the other one alone", states.Reservations, err)
	}
}

func TestStopInstancesRefuses(t *testing.T) {
	s := start(t, nil)
	spot, fresh := s.launch(1, "spot", nil), s.launch(1, "on-demand", nil)
	if _, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: s.launch(1, "on-demand", nil)}); err != nil {
		t.Fatal(err)
	}
	stop := func(ids ...string) error {
		_, err := s.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: ids})
		return err
	}
	wantCode(t, stop("i-0123456789abcdef0"), "InvalidInstanceID.NotFound")
	wantCode(t, stop("no-instance"), "InvalidInstanceID.Malformed")
	wantCode(t, stop(fresh[0]), "IncorrectInstanceState") // it is pending
	s.clock.Advance(5 * time.Minute)
	wantCode(t, stop(fresh[0], spot[0]), "UnsupportedOperation")
	if state, _ := s.world.StateOf(fresh[0]); state != "running" {
		t.Errorf("a call that was refused left an instance %s", state)
	}
}
