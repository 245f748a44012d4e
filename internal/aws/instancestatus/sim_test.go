package instancestatus_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestStatusIsReadOverTheWire(t *testing.T) {
	s, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}, PendingTime: -1, ShutdownTime: -1}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Close() })
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	clients, err := session.New(t.Context(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	subnets, err := clients.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	images, err := clients.EC2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := clients.EC2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: aws.Int32(3), MaxCount: aws.Int32(3), InstanceType: types.InstanceTypeM5Large, SubnetId: subnets.Subnets[0].SubnetId, ImageId: images.Images[0].ImageId,
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"i-0000000000000dead", "i-0000000000000beef"} // EC2 has forgotten these
	for _, i := range out.Instances {
		ids = append(ids, *i.InstanceId)
	}
	// Instances that are not running yet are not in the answer.
	if err := ec2.NewInstanceRunningWaiter(clients.EC2, func(o *ec2.InstanceRunningWaiterOptions) {
		o.MinDelay, o.MaxDelay = time.Millisecond, 100*time.Millisecond
	}).Wait(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids[2:]}, time.Minute); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	if err := s.World.Impair(ids[2], world.CheckSystem, true); err != nil {
		t.Fatal(err)
	}
	for _, description := range []string{"scheduled reboot", "[Completed] scheduled reboot"} {
		if err := s.World.Schedule(ids[3], world.ScheduledEvent{Code: "system-reboot", Description: description, NotBefore: at}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := instancestatus.New(clients.EC2).Read(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, v := range got {
		for _, f := range v.Failures {
			said[v.InstanceID] += fmt.Sprintf("%s %v;", f.Category, time.Since(f.Since) < time.Minute)
		}
		for _, e := range v.Events {
			said[v.InstanceID] += fmt.Sprintf("%s %v;", e.Code, e.NotBefore.Equal(at))
		}
	}
	if len(got) != 3 || said[ids[2]] != "SystemStatus true;" || said[ids[3]] != "system-reboot true;" || said[ids[4]] != "" {
		t.Errorf("%d statuses: %v", len(got), said)
	}
}
