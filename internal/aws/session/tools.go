package session

import (
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// The controller calls none of these services; the tools around it do. So their clients are made when they are asked for.

// KMS is a new client of the key service.
func (s *Session) KMS() *kms.Client { return kms.NewFromConfig(s.Config) }

// EventBridge is a new client of the event buses.
func (s *Session) EventBridge() *eventbridge.Client { return eventbridge.NewFromConfig(s.Config) }

// CloudWatch is a new client of metrics and alarms.
func (s *Session) CloudWatch() *cloudwatch.Client { return cloudwatch.NewFromConfig(s.Config) }

// CloudFormation is a new client of stacks.
func (s *Session) CloudFormation() *cloudformation.Client {
	return cloudformation.NewFromConfig(s.Config)
}
