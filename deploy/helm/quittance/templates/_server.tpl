{{/* The deployment of a role. It is called with the root, the role ("api" or "worker") and the values of that role. */}}
{{- define "quittance.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "quittance.fullname" .root }}-{{ .role }}
  labels:
    {{- include "quittance.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- if not (dig "autoscaling" "enabled" false .values) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  # Not before the start of a pod has failed, and its image may take a while.
  progressDeadlineSeconds: {{ add (include "quittance.startupSeconds" .root | int64) 300 }}
  # A new pod is ready before an old one stops.
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "quittance.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  template:
    metadata:
      labels:
        {{- include "quittance.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      {{- with .values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "quittance.pod" . | nindent 6 }}
{{- end -}}

{{/* How long a server may take to start, in seconds. Without the job, the first of them updates the schema and the others wait for it. */}}
{{- define "quittance.startupSeconds" -}}
{{- if .Values.migration.enabled }}600{{ else }}{{ max 600 (int64 .Values.migration.deadline) }}{{ end -}}
{{- end -}}

{{/* The pod of a role. */}}
{{- define "quittance.pod" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ include "quittance.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
# Longer than shutdown.delay and shutdown.grace together.
terminationGracePeriodSeconds: {{ add $values.shutdown.delay $values.shutdown.grace 15 }}
securityContext:
  {{- include "quittance.podSecurity" .root | nindent 2 }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "quittance.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.role }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: quittance
    {{- include "quittance.container" . | nindent 4 }}
volumes:
  {{- include "quittance.volumes" . | nindent 2 }}
{{- end -}}

{{/* The container of a role. A worker serves only health checks and needs no TLS for them. */}}
{{- define "quittance.container" -}}
{{- $values := .root.Values -}}
{{- $secure := and (eq .role "api") $values.tls.existingSecret -}}
image: {{ include "quittance.image" .root | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args: [serve, --role, {{ .role }}]
env:
  {{- include "quittance.environment" . | nindent 2 }}
ports:
  - name: http
    containerPort: 8080
  {{- if $values.metrics.enabled }}
  - name: metrics
    containerPort: 9090
  {{- end }}
  {{- if and $values.operators.enabled (eq .role "api") }}
  - name: operators
    containerPort: 8090
  {{- end }}
# /healthz does not answer before the schema is up to date.
startupProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (not $secure)) }}}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: {{ div (include "quittance.startupSeconds" .root | int64) 2 }}
livenessProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (not $secure)) }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (not $secure)) }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
resources:
  {{- toYaml .values.resources | nindent 2 }}
securityContext:
  {{- include "quittance.containerSecurity" .root | nindent 2 }}
volumeMounts:
  {{- include "quittance.mounts" . | nindent 2 }}
{{- end -}}

{{/* The settings of a role, as the variables of the flags. */}}
{{- define "quittance.environment" -}}
{{- $values := .root.Values -}}
{{- include "quittance.commonEnvironment" .root }}
{{- with include "quittance.memoryLimit" .values }}
{{ . }}
{{- end }}
- name: QUITTANCE_ENVIRONMENT
  value: {{ $values.environment }}
- name: QUITTANCE_LISTEN
  value: ":8080"
- name: QUITTANCE_SHUTDOWN_DELAY
  value: {{ printf "%ds" (int64 $values.shutdown.delay) }}
- name: QUITTANCE_SHUTDOWN_GRACE
  value: {{ printf "%ds" (int64 $values.shutdown.grace) }}
{{- if $values.metrics.enabled }}
- name: QUITTANCE_METRICS_LISTEN
  value: ":9090"
{{- end }}
{{- with $values.publicURL }}
- name: QUITTANCE_PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- if eq .role "api" }}
{{- include "quittance.apiEnvironment" $values }}
{{- end }}
{{- with $values.traces.endpoint }}
- name: QUITTANCE_OTLP_ENDPOINT
  value: {{ . | quote }}
- name: QUITTANCE_OTLP_SAMPLE
  value: {{ $values.traces.sample | quote }}
{{- end }}
{{- if $values.traces.existingSecret }}
- name: QUITTANCE_OTLP_HEADERS_FILE
  value: /run/quittance/traces/headers
{{- end }}
{{- include "quittance.mailEnvironment" $values.mail }}
{{- include "quittance.settings" (merge (dict) .values.settings $values.settings) }}
{{- end -}}

{{/* The settings of the API alone. */}}
{{- define "quittance.apiEnvironment" -}}
{{- if .tls.existingSecret }}
- name: QUITTANCE_TLS_CERT
  value: /run/quittance/tls/tls.crt
- name: QUITTANCE_TLS_KEY
  value: /run/quittance/tls/tls.key
{{- else }}
- name: QUITTANCE_BEHIND_PROXY
  value: "true"
{{- end }}
{{- with .proxy.trusted }}
- name: QUITTANCE_TRUSTED_PROXY
  value: {{ join "," . | quote }}
{{- end }}
{{- if .operators.enabled }}
- name: QUITTANCE_OPERATOR_LISTEN
  value: ":8090"
{{- end }}
{{- if .signOn.issuer }}
- name: QUITTANCE_OIDC_ISSUER
  value: {{ .signOn.issuer | quote }}
- name: QUITTANCE_OIDC_CLIENT_ID
  value: {{ .signOn.clientID | quote }}
- name: QUITTANCE_OIDC_CLIENT_SECRET_FILE
  value: /run/quittance/sign-on/client-secret
{{- end }}
{{- end -}}

{{/* The settings of mail, which both roles need. */}}
{{- define "quittance.mailEnvironment" -}}
{{- if .url }}
- name: QUITTANCE_SMTP_URL
  value: {{ .url | quote }}
- name: QUITTANCE_SMTP_FROM
  value: {{ .from | quote }}
{{- if .existingSecret }}
- name: QUITTANCE_SMTP_PASSWORD_FILE
  value: /run/quittance/mail/password
{{- end }}
{{- if .ca.existingConfigMap }}
- name: QUITTANCE_SMTP_CA
  value: /etc/quittance/mail/ca.pem
{{- end }}
{{- end }}
{{- end -}}

{{- define "quittance.mailMounts" -}}
{{- if and .url .existingSecret }}
- name: mail
  mountPath: /run/quittance/mail
  readOnly: true
{{- end }}
{{- if and .url .ca.existingConfigMap }}
- name: mail-ca
  mountPath: /etc/quittance/mail
  readOnly: true
{{- end }}
{{- end -}}

{{- define "quittance.mailVolumes" -}}
{{- if and .url .existingSecret }}
- name: mail
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0400
    items:
      - key: {{ .key }}
        path: password
{{- end }}
{{- if and .url .ca.existingConfigMap }}
- name: mail-ca
  configMap:
    name: {{ .ca.existingConfigMap }}
    items:
      - key: {{ .ca.key }}
        path: ca.pem
{{- end }}
{{- end -}}

{{- define "quittance.mounts" -}}
{{- $values := .root.Values -}}
{{- include "quittance.commonMounts" .root }}
{{- if eq .role "api" }}
{{- if $values.tls.existingSecret }}
- name: tls
  mountPath: /run/quittance/tls
  readOnly: true
{{- end }}
{{- if $values.signOn.issuer }}
- name: sign-on
  mountPath: /run/quittance/sign-on
  readOnly: true
{{- end }}
{{- end }}
{{- if $values.traces.existingSecret }}
- name: traces
  mountPath: /run/quittance/traces
  readOnly: true
{{- end }}
{{- include "quittance.mailMounts" $values.mail }}
{{- range $values.files }}
- name: file-{{ .name }}
  mountPath: /etc/quittance/files/{{ .name }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "quittance.volumes" -}}
{{- $values := .root.Values -}}
{{- include "quittance.commonVolumes" .root }}
{{- if eq .role "api" }}
{{- with $values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0400
{{- end }}
{{- if $values.signOn.issuer }}
- name: sign-on
  secret:
    secretName: {{ $values.signOn.existingSecret }}
    defaultMode: 0400
    items:
      - key: {{ $values.signOn.key }}
        path: client-secret
{{- end }}
{{- end }}
{{- with $values.traces.existingSecret }}
- name: traces
  secret:
    secretName: {{ . }}
    defaultMode: 0400
    items:
      - key: {{ $values.traces.key }}
        path: headers
{{- end }}
{{- include "quittance.mailVolumes" $values.mail }}
{{- range $values.files }}
- name: file-{{ .name }}
  {{- if .existingSecret }}
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0400
  {{- else }}
  configMap:
    name: {{ .existingConfigMap }}
  {{- end }}
{{- end }}
{{- end -}}
