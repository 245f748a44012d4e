{{/* The controller's environment. A setting that is empty is left out: the controller has a default for it. */}}
{{- define "kerf.env" -}}
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
{{- $list = append $list (printf "%s=%t" . (index $gates (untitle .) | default false)) }}
{{- end }}
- name: FEATURE_GATES
  value: {{ join "," $list | quote }}
{{- $names := list
  (list "BATCH_MAX_DURATION" "batchMaxDuration")
  (list "BATCH_IDLE_DURATION" "batchIdleDuration")
  (list "PREFERENCE_POLICY" "preferencePolicy")
  (list "MIN_VALUES_POLICY" "minValuesPolicy")
  (list "IGNORE_DRA_REQUESTS" "ignoreDRARequests")
  (list "DISABLE_CLUSTER_STATE_OBSERVABILITY" "disableClusterStateObservability")
  (list "CLUSTER_NAME" "clusterName")
  (list "CLUSTER_ENDPOINT" "clusterEndpoint")
  (list "CLUSTER_CA_BUNDLE" "clusterCABundle")
  (list "ISOLATED_VPC" "isolatedVPC")
  (list "EKS_CONTROL_PLANE" "eksControlPlane")
  (list "VM_MEMORY_OVERHEAD_PERCENT" "vmMemoryOverheadPercent")
  (list "INTERRUPTION_QUEUE" "interruptionQueue")
  (list "RESERVED_ENIS" "reservedENIs")
  (list "DISABLE_DRY_RUN" "disableDryRun")
  (list "ENABLE_ZONAL_SHIFT" "enableZonalShift")
  (list "AMI_REFRESH_INTERVAL" "amiRefreshInterval")
  (list "SUBNET_REFRESH_INTERVAL" "subnetRefreshInterval")
  (list "SCHEDULER_CONFIG" "schedulerConfig") }}
{{- $_ := required "settings.clusterName: set the name of the EKS cluster" $settings.clusterName }}
{{- range $names }}
{{- $value := index $settings (index . 1) }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: {{ index . 0 }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $settings.kerf | default dict }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: KERF_{{ $name | snakecase | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- with .Values.controller.env }}
{{ toYaml . }}
{{- end }}
{{- end }}
