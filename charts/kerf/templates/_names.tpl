{{/* Names and labels. Every value may be missing: an upgrade with --reuse-values brings the values of the chart that was there. */}}

{{- define "kerf.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* Not empty where the controller changes nothing: it needs the rights of a reader, and no budget. */}}
{{- define "kerf.shadow" -}}
{{- if has (toString ((.Values.settings).kerf).shadow) (list "true" "True" "TRUE" "t" "1") }}true{{ end -}}
{{- end }}

{{- define "kerf.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default "karpenter" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kerf.labels" -}}
{{ include "kerf.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Annotations of an object: those of all, and those of its own, which are the second of the list. */}}
{{- define "kerf.annotations" -}}
{{- $all := merge dict (index . 1 | default dict) ((index . 0).Values.additionalAnnotations | default dict) -}}
{{- with $all }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "kerf.serviceAccountName" -}}
{{- $account := .Values.serviceAccount | default dict -}}
{{- if $account.name -}}
{{ $account.name }}
{{- else if $account.create -}}
{{ include "kerf.fullname" . }}
{{- else -}}
default
{{- end }}
{{- end }}

{{/* Users and groups who may read decisions, as subjects of a binding. */}}
{{- define "kerf.viewers" -}}
{{- $viewers := .Values.viewers | default dict -}}
{{- range $viewers.users }}
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: {{ . | quote }}
{{- end }}
{{- range $viewers.groups }}
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: {{ . | quote }}
{{- end }}
{{- end }}

{{/* An image of Karpenter's own is left of the values of its chart. */}}
{{- define "kerf.image" -}}
{{- $image := (.Values.controller).image | default dict -}}
{{- if or (not $image.repository) (hasPrefix "public.ecr.aws/karpenter/" $image.repository) -}}
{{- $image = dict "repository" "ghcr.io/kerf-sh/kerf" -}}
{{- end -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end }}
