{{/*
The controller's environment, with controller.env after what follows from the values. A variable that is there twice is refused by the API
server, so that it is refused here, with the value to set instead. So is one port for both listeners, with which no replica would start.
*/}}
{{- define "kerf.env" -}}
{{- $metrics := .Values.controller.metrics.port | int -}}
{{- if eq $metrics (.Values.controller.healthProbe.port | int) }}
{{- fail (printf "values controller.metrics.port and controller.healthProbe.port: METRICS_PORT and HEALTH_PROBE_PORT are both %d: give each a port of its own" $metrics) }}
{{- end -}}
{{- $own := include "kerf.ownEnv" . -}}
{{- $set := dict -}}
{{- range $own | fromYamlArray }}{{ $_ := set $set .name true }}{{ end -}}
{{- $from := dict "MEMORY_LIMIT" "controller.resources.limits.memory" "CPU_REQUESTS" "controller.resources.requests.cpu"
  "LOG_LEVEL" "logLevel" "LOG_OUTPUT_PATHS" "logOutputPaths" "LOG_ERROR_OUTPUT_PATHS" "logErrorOutputPaths" "METRICS_PORT" "controller.metrics.port"
  "HEALTH_PROBE_PORT" "controller.healthProbe.port" "FEATURE_GATES" "settings.featureGates" -}}
{{- range include "kerf.settings" . | fromYamlArray }}{{ $_ := set $from .name (printf "settings.%s" .value) }}{{ end -}}
{{- range $name, $_ := (.Values.settings).kerf | default dict }}{{ $_ := set $from (printf "KERF_%s" ($name | snakecase | upper)) (printf "settings.kerf.%s" $name) }}{{ end -}}
{{- range .Values.controller.env }}
{{- $name := toString .name }}
{{- if eq $name "LEADER_ELECTION_NAMESPACE" }}
{{- fail "value controller.env: LEADER_ELECTION_NAMESPACE is the namespace of the installation: remove it from controller.env" }}
{{- else if not (hasKey $set $name) }}
{{- $_ := set $set $name true }}
{{- else if hasKey $from $name }}
{{- fail (printf "value controller.env: %s is set from %s: set that, and remove %s from controller.env" $name (get $from $name) $name) }}
{{- else }}
{{- fail (printf "value controller.env: %s is there twice: remove one" $name) }}
{{- end }}
{{- end }}
{{- $own }}
{{- with .Values.controller.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The controller's environment. A setting that is empty is left out: the controller has a default for it. */}}
{{- define "kerf.ownEnv" -}}
{{- $settings := .Values.settings | default dict -}}
{{- $gates := $settings.featureGates | default dict -}}
{{- $resources := .Values.controller.resources | default dict -}}
{{- $container := .Values.controller.containerName | default "controller" -}}
- name: LEADER_ELECTION_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: LOG_LEVEL
  value: {{ .Values.logLevel | default "info" | quote }}
- name: LOG_OUTPUT_PATHS
  value: {{ join "," .Values.logOutputPaths | quote }}
- name: LOG_ERROR_OUTPUT_PATHS
  value: {{ join "," .Values.logErrorOutputPaths | quote }}
- name: METRICS_PORT
  value: {{ .Values.controller.metrics.port | quote }}
- name: HEALTH_PROBE_PORT
  value: {{ .Values.controller.healthProbe.port | quote }}
{{- if ($resources.limits).memory }}
- name: MEMORY_LIMIT
  valueFrom:
    resourceFieldRef:
      containerName: {{ $container }}
      resource: limits.memory
      divisor: "0"
{{- end }}
{{- if ($resources.requests).cpu }}
- name: CPU_REQUESTS
  valueFrom:
    resourceFieldRef:
      containerName: {{ $container }}
      resource: requests.cpu
      divisor: 1m
{{- end }}
{{- $gateNames := list "ReservedCapacity" "SpotToSpotConsolidation" "NodeRepair" "NodeOverlay" "StaticCapacity" "CapacityBuffer" }}
{{- $list := list }}
{{- range $gateNames }}
{{- $list = append $list (printf "%s=%s" . (index $gates (untitle .) | default false | toString)) }}
{{- end }}
- name: FEATURE_GATES
  value: {{ join "," $list | quote }}
{{- $_ := required "settings.clusterName: set the name of the EKS cluster" $settings.clusterName }}
{{- range include "kerf.settings" . | fromYamlArray }}
{{- $value := index $settings .value }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: {{ .name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $settings.kerf | default dict }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: KERF_{{ $name | snakecase | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The values under settings that become a variable each. */}}
{{- define "kerf.settings" -}}
- {name: BATCH_MAX_DURATION, value: batchMaxDuration}
- {name: BATCH_IDLE_DURATION, value: batchIdleDuration}
- {name: PREFERENCE_POLICY, value: preferencePolicy}
- {name: MIN_VALUES_POLICY, value: minValuesPolicy}
- {name: IGNORE_DRA_REQUESTS, value: ignoreDRARequests}
- {name: DISABLE_CLUSTER_STATE_OBSERVABILITY, value: disableClusterStateObservability}
- {name: CLUSTER_NAME, value: clusterName}
- {name: CLUSTER_ENDPOINT, value: clusterEndpoint}
- {name: CLUSTER_CA_BUNDLE, value: clusterCABundle}
- {name: ISOLATED_VPC, value: isolatedVPC}
- {name: EKS_CONTROL_PLANE, value: eksControlPlane}
- {name: VM_MEMORY_OVERHEAD_PERCENT, value: vmMemoryOverheadPercent}
- {name: INTERRUPTION_QUEUE, value: interruptionQueue}
- {name: RESERVED_ENIS, value: reservedENIs}
- {name: DISABLE_DRY_RUN, value: disableDryRun}
- {name: ENABLE_ZONAL_SHIFT, value: enableZonalShift}
- {name: AMI_REFRESH_INTERVAL, value: amiRefreshInterval}
- {name: SUBNET_REFRESH_INTERVAL, value: subnetRefreshInterval}
- {name: SCHEDULER_CONFIG, value: schedulerConfig}
{{- end }}
