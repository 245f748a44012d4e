# The queue and the rules of the public EKS module's sub-module for Karpenter, in outline, as versions 19 to 21 have them.

variable "cluster_name" {}

variable "create" {
  default = true
}

data "aws_region" "current" {}

data "aws_partition" "current" {}

data "aws_caller_identity" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition
  region     = data.aws_region.current.region

  events = {
    health_event = {
      name          = "HealthEvent"
      event_pattern = { source = ["aws.health"], detail-type = ["AWS Health Event"] }
    }
    spot_interrupt = {
      name          = "SpotInterrupt"
      event_pattern = { source = ["aws.ec2"], detail-type = ["EC2 Spot Instance Interruption Warning"] }
    }
    instance_rebalance = {
      name          = "InstanceRebalance"
      event_pattern = { source = ["aws.ec2"], detail-type = ["EC2 Instance Rebalance Recommendation"] }
    }
    instance_state_change = {
      name          = "InstanceStateChange"
      event_pattern = { source = ["aws.ec2"], detail-type = ["EC2 Instance State-change Notification"] }
    }
  }
}

resource "aws_sqs_queue" "this" {
  count                     = 1
  name                      = "Karpenter-${var.cluster_name}"
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "this" {
  count     = 1
  queue_url = aws_sqs_queue.this[0].url
  policy    = data.aws_iam_policy_document.queue[0].json
}

resource "aws_cloudwatch_event_rule" "this" {
  for_each = local.events

  name_prefix   = "Karpenter${each.value.name}-"
  event_pattern = jsonencode(each.value.event_pattern)
}

resource "aws_cloudwatch_event_target" "this" {
  for_each = local.events

  rule      = aws_cloudwatch_event_rule.this[each.key].name
  target_id = "KarpenterInterruptionQueueTarget"
  arn       = aws_sqs_queue.this[0].arn
}

data "aws_iam_policy_document" "node_assume_role" {
  count = 1

  statement {
    sid     = "EKSNodeAssumeRole"
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}
