package convert

import (
	"fmt"
	"strings"
)

// volumeKey says what the stack needs for volumes that are encrypted with a key; empty for none and for those of AWS, which
// everybody may use.
func volumeKey(id string) string {
	switch {
	case id == "", id == "alias/aws/ebs", strings.HasSuffix(id, ":alias/aws/ebs"):
		return ""
	case strings.HasPrefix(id, "arn:") && strings.Contains(id, ":key/") && !strings.Contains(id, "${"):
		return "the bootstrap stack needs --volume-key " + id
	}
	return "the bootstrap stack needs --volume-key with the ARN of the key " + id
}

// judgeVolumeKeys says it of the keys of a template that stays.
func (f *fields) judgeVolumeKeys(t *Template) {
	devices, _ := t.Data["BlockDeviceMappings"].([]any)
	for i, d := range devices {
		if do := volumeKey(textOf(look(d, "Ebs", "KmsKeyId"))); do != "" {
			f.decide(fmt.Sprintf("BlockDeviceMappings[%d].Ebs.KmsKeyId", i), "", "the template decides", do)
		}
	}
}
