{{/* The name of the chart in labels. */}}
{{- define "quittance.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The beginning of the names of all objects: at most 50 characters, so that there is room for what follows. */}}
{{- define "quittance.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "quittance.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "quittance.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels by which objects of this release find its pods. They never change. */}}
{{- define "quittance.selector" -}}
app.kubernetes.io/name: {{ include "quittance.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object. */}}
{{- define "quittance.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "quittance.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The image. */}}
{{- define "quittance.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The port of the service of the API. */}}
{{- define "quittance.servicePort" -}}
{{- default (ternary 443 80 (not (not .Values.tls.existingSecret))) .Values.service.port | int64 -}}
{{- end -}}

{{/* The service account of the servers. */}}
{{- define "quittance.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "quittance.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* What the pods of every role may do: nothing but run as the user of the image. Files of secrets belong to root and to the group. */}}
{{- define "quittance.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "quittance.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* What every command needs: the database and the key file. CREDENTIALS_DIRECTORY says that only this process can enter the directory, so
that its group may read the key file, as the mount requires. */}}
{{- define "quittance.commonEnvironment" -}}
- name: QUITTANCE_DATABASE
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.existingSecret }}
      key: {{ .Values.database.key }}
{{- if .Values.database.directKey }}
- name: QUITTANCE_DATABASE_DIRECT
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.existingSecret }}
      key: {{ .Values.database.directKey }}
{{- end }}
- name: QUITTANCE_KEY_FILE
  value: /run/quittance/key/{{ .Values.keyFile.key }}
- name: CREDENTIALS_DIRECTORY
  value: /run/quittance/key
- name: QUITTANCE_LOG_LEVEL
  value: {{ .Values.log.level }}
- name: QUITTANCE_LOG_FORMAT
  value: {{ .Values.log.format }}
{{- end -}}

{{/* The memory at which the runtime of Go begins to collect garbage in earnest, for the resources of a container: 90 % of the limit of memory,
in MiB, because the limit also counts what the runtime does not: buffers of connections and other memory of the kernel. Without it, a peak
that garbage collection could have absorbed ends the container. The downward API could only name the limit itself. The schema accepts only
quantities that this understands. */}}
{{- define "quittance.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" .resources -}}
{{- if kindIs "float64" $limit -}}
{{- $limit = int64 $limit -}}
{{- end -}}
{{- with toString $limit }}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- $bytes := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
- name: GOMEMLIMIT
  value: {{ printf "%dMiB" (divf (mulf (float64 $number) (get $bytes (trimPrefix $number .)) 0.9) 1048576 | floor | int64) }}
{{- end }}
{{- end -}}

{{- define "quittance.commonMounts" -}}
- name: tmp
  mountPath: /tmp
- name: key
  mountPath: /run/quittance/key
  readOnly: true
{{- if .Values.database.ca.existingConfigMap }}
- name: database-ca
  mountPath: /etc/quittance/database
  readOnly: true
{{- end }}
{{- end -}}

{{- define "quittance.commonVolumes" -}}
# Uploads of more than a few MiB. They count against the limits of ephemeral-storage.
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
- name: key
  secret:
    secretName: {{ .Values.keyFile.existingSecret }}
    defaultMode: 0400
    items:
      - key: {{ .Values.keyFile.key }}
        path: {{ .Values.keyFile.key }}
{{- if .Values.database.ca.existingConfigMap }}
- name: database-ca
  configMap:
    name: {{ .Values.database.ca.existingConfigMap }}
    items:
      - key: {{ .Values.database.ca.key }}
        path: ca.pem
{{- end }}
{{- end -}}

{{/* The variables of settings, each a flag of quittance serve. Numbers of YAML are floating-point numbers here. */}}
{{- define "quittance.settings" -}}
{{- range $flag, $value := . }}
- name: QUITTANCE_{{ $flag | upper | replace "-" "_" }}
  value: {{ if kindIs "float64" $value }}{{ int64 $value | toString | quote }}{{ else }}{{ toString $value | quote }}{{ end }}
{{- end }}
{{- end -}}

{{/* What a pod needs to reach the database: rules of a network policy. */}}
{{- define "quittance.databaseEgress" -}}
{{- $policy := .Values.networkPolicy -}}
- to:
    {{- toYaml $policy.dns.to | nindent 4 }}
  ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
- to:
    {{- toYaml $policy.database.to | nindent 4 }}
  ports: [{port: {{ $policy.database.port }}}]
{{- end -}}
