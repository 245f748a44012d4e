package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

type schema = apiextensionsv1.JSONSchemaProps

const (
	qualifiedName = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	labelValue    = `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	// quantity is the form that Kubernetes can read. controller-gen's own also lets 1e1.5 pass,
	// which makes every typed reader of the whole list fail, and 1e-99999999, over which a reader
	// sits for most of a minute.
	quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`
	// amount is a quantity, or an expression: that has a blank, a bracket or an operator, which no quantity has. The controller
	// refuses it in its own words.
	amount = `^((\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?|.*[ (*/].*)$`
	// eviction is a percentage up to 100, a quantity, or nothing.
	eviction = `^(([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%|(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?)?$`
	// timestamp is RFC 3339. The format date-time lets more pass than Kubernetes can read.
	timestamp = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`
)

// complete adds what is special to a kind.
func complete(kind string, root *schema) error {
	switch kind {
	case "NodePool":
		return edit(root,
			at("spec.template.spec.taints.[]", taint), at("spec.template.spec.startupTaints.[]", taint),
			at("spec.template.metadata.labels", func(s *schema) {
				s.AdditionalProperties.Schema.MaxLength = new(int64(63))
				s.AdditionalProperties.Schema.Pattern = labelValue
				s.XValidations = append(s.XValidations, awsDomain("k", "self.all(k, %s)"))
			}),
			at("spec.template.spec.requirements.[].key", func(s *schema) {
				s.XValidations = append(s.XValidations, awsDomain("self", "%s"))
			}))
	case "NodeClaim":
		return edit(root,
			at("spec.taints.[]", taint), at("spec.startupTaints.[]", taint),
			at("spec.requirements.[].key", func(s *schema) {
				s.XValidations = append(s.XValidations, awsDomain("self", "%s"))
			}))
	case "EC2NodeClass":
		return edit(root,
			at("spec.blockDeviceMappings.[].ebs.volumeSize", func(s *schema) {
				s.Type, s.XIntOrString, s.AnyOf = "string", false, nil
			}),
			at("spec.kubelet.maxPods", func(s *schema) {
				// A text is an expression, which the controller refuses in its own words.
				s.Type, s.Format, s.XIntOrString, s.AnyOf = "", "", true, []schema{{Type: "integer"}, {Type: "string"}}
				s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "type(self) == string || self >= 0", Message: "maxPods may not be negative"})
			}),
			at("spec.kubelet.systemReserved.{}", pattern(amount)), at("spec.kubelet.kubeReserved.{}", pattern(amount)),
			at("spec.kubelet.evictionHard.{}", pattern(eviction)), at("spec.kubelet.evictionSoft.{}", pattern(eviction)))
	}
	return nil
}

// awsDomain refuses keys of the provider's label domain that mean nothing.
func awsDomain(variable, frame string) apiextensionsv1.ValidationRule {
	keys := []string{"'" + awsv1.LabelNodeClass + "'"}
	for _, key := range awsv1.WellKnownLabels() {
		if strings.HasPrefix(key, awsv1.Group+"/") {
			keys = append(keys, "'"+key+"'")
		}
	}
	rule := fmt.Sprintf("%[1]s in [%[2]s] || !%[1]s.find('^([^/]+)').endsWith('%[3]s')", variable, strings.Join(keys, ", "), awsv1.Group)
	return apiextensionsv1.ValidationRule{
		Rule:    fmt.Sprintf(frame, rule),
		Message: fmt.Sprintf("label domain %q is restricted: use one of the labels that instances have, or a domain of your own", awsv1.Group),
	}
}

// taint gives an item of a list of taints its rules and our words.
func taint(s *schema) {
	s.Description = "A mark on a node that keeps pods without a toleration away."
	change := func(name string, f func(*schema)) {
		p := s.Properties[name]
		f(&p)
		s.Properties[name] = p
	}
	change("key", func(p *schema) {
		p.Description, p.MinLength, p.Pattern = "Key of the taint.", new(int64(1)), qualifiedName
	})
	change("value", func(p *schema) {
		p.Description, p.Pattern = "Value of the taint.", qualifiedName
	})
	change("effect", func(p *schema) {
		p.Description = "What happens to pods without a toleration: NoSchedule, PreferNoSchedule or NoExecute."
		for _, e := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute} {
			p.Enum = append(p.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + string(e) + `"`)})
		}
	})
	change("timeAdded", func(p *schema) {
		p.Description, p.Pattern = "When the taint came; of no meaning here.", timestamp
	})
}

func pattern(expression string) func(*schema) {
	return func(s *schema) { s.Pattern = expression }
}

// tightenQuantity makes the pattern of quantities one that Kubernetes can read.
func tightenQuantity(s *schema) {
	if s.XIntOrString && strings.Contains(s.Pattern, "[KMGTPE]i") {
		s.Pattern = quantity
	}
}
