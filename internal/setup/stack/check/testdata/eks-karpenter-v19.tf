# Version 19: a role for the service account (IRSA), and one policy whose statements have no names.

variable "oidc_provider_arn" {}

variable "create_iam_role" {
  default = true
}

variable "iam_role_arn" {
  default = null
}

data "aws_iam_policy_document" "queue" {
  count = 1

  statement {
    sid       = "SqsWrite"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.this[0].arn]

    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com", "sqs.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "this" {
  count              = 1
  name_prefix        = "Karpenter-${var.cluster_name}-"
  path               = "/"
  assume_role_policy = data.aws_iam_policy_document.node_assume_role[0].json
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = {
    AmazonEKSWorkerNodePolicy          = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    AmazonEC2ContainerRegistryReadOnly = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"
    AmazonEKS_CNI_Policy               = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
  }

  role       = aws_iam_role.this[0].name
  policy_arn = each.value
}

data "aws_iam_policy_document" "irsa_assume_role" {
  count = 1

  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]

    principals {
      type        = "Federated"
      identifiers = [var.oidc_provider_arn]
    }

    condition {
      test     = "StringEquals"
      variable = "oidc.eks.eu-west-1.amazonaws.com/id/ABC:sub"
      values   = ["system:serviceaccount:karpenter:karpenter"]
    }
  }
}

resource "aws_iam_role" "irsa" {
  count              = 1
  name_prefix        = "KarpenterIRSA-${var.cluster_name}-"
  path               = "/"
  assume_role_policy = data.aws_iam_policy_document.irsa_assume_role[0].json
}

data "aws_iam_policy_document" "irsa" {
  count = 1

  statement {
    actions = [
      "ec2:CreateLaunchTemplate", "ec2:CreateFleet", "ec2:CreateTags", "ec2:DescribeLaunchTemplates", "ec2:DescribeImages", "ec2:DescribeInstances",
      "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeAvailabilityZones",
      "ec2:DescribeSpotPriceHistory", "pricing:GetProducts",
    ]
    resources = ["*"]
  }

  statement {
    actions   = ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "ec2:ResourceTag/karpenter.sh/discovery"
      values   = [var.cluster_name]
    }
  }

  statement {
    actions   = ["ec2:RunInstances"]
    resources = ["*"]
  }

  statement {
    actions   = ["ssm:GetParameter"]
    resources = ["arn:aws:ssm:*:*:parameter/aws/service/*"]
  }

  statement {
    actions   = ["eks:DescribeCluster"]
    resources = ["arn:${local.partition}:eks:*:${local.account_id}:cluster/${var.cluster_name}"]
  }

  statement {
    actions   = ["iam:PassRole"]
    resources = [var.create_iam_role ? aws_iam_role.this[0].arn : var.iam_role_arn]
  }

  dynamic "statement" {
    for_each = [1]

    content {
      actions   = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
      resources = [aws_sqs_queue.this[0].arn]
    }
  }
}

resource "aws_iam_policy" "irsa" {
  count       = 1
  name_prefix = "KarpenterIRSA-${var.cluster_name}-"
  path        = "/"
  policy      = data.aws_iam_policy_document.irsa[0].json
}

resource "aws_iam_role_policy_attachment" "irsa" {
  count      = 1
  role       = aws_iam_role.irsa[0].name
  policy_arn = aws_iam_policy.irsa[0].arn
}
