package levels

import "strings"

// ofToskose has the names of Toskose's own kinds, of the category of all kinds, of the operator, and of the top of
// the hierarchy.
var ofToskose = []string{System, "toskose", "operator", "application", "applications", "component", "components"}

// ofKubernetes has the singular, plural and short names of the kinds of Kubernetes 1.34, and kubectl's category. kubectl could not
// tell a level with one of these names from that kind.
var ofKubernetes = strings.Fields(`
all
apiservice apiservices
binding bindings
certificatesigningrequest certificatesigningrequests csr
clusterrole clusterroles clusterrolebinding clusterrolebindings clustertrustbundle clustertrustbundles
componentstatus componentstatuses cs
configmap configmaps cm
controllerrevision controllerrevisions
cronjob cronjobs cj
csidriver csidrivers csinode csinodes csistoragecapacity csistoragecapacities
customresourcedefinition customresourcedefinitions crd crds
daemonset daemonsets ds
deployment deployments deploy
deviceclass deviceclasses devicetaintrule devicetaintrules
endpoint endpoints ep endpointslice endpointslices
event events ev
flowschema flowschemas
horizontalpodautoscaler horizontalpodautoscalers hpa
ingress ingresses ing ingressclass ingressclasses
ipaddress ipaddresses ip
job jobs
lease leases leasecandidate leasecandidates
limitrange limitranges limits
localsubjectaccessreview localsubjectaccessreviews
mutatingadmissionpolicy mutatingadmissionpolicies mutatingadmissionpolicybinding mutatingadmissionpolicybindings
mutatingwebhookconfiguration mutatingwebhookconfigurations
namespace namespaces ns
networkpolicy networkpolicies netpol
node nodes no
persistentvolume persistentvolumes pv persistentvolumeclaim persistentvolumeclaims pvc
pod pods po
podcertificaterequest podcertificaterequests
poddisruptionbudget poddisruptionbudgets pdb
podtemplate podtemplates
priorityclass priorityclasses pc prioritylevelconfiguration prioritylevelconfigurations
replicaset replicasets rs
replicationcontroller replicationcontrollers rc
resourceclaim resourceclaims resourceclaimtemplate resourceclaimtemplates resourceslice resourceslices
resourcequota resourcequotas quota
role roles rolebinding rolebindings
runtimeclass runtimeclasses
secret secrets
selfsubjectaccessreview selfsubjectaccessreviews selfsubjectreview selfsubjectreviews
selfsubjectrulesreview selfsubjectrulesreviews
service services svc
serviceaccount serviceaccounts sa
servicecidr servicecidrs
statefulset statefulsets sts
storageclass storageclasses sc
storageversion storageversions storageversionmigration storageversionmigrations
subjectaccessreview subjectaccessreviews
tokenreview tokenreviews
validatingadmissionpolicy validatingadmissionpolicies validatingadmissionpolicybinding validatingadmissionpolicybindings
validatingwebhookconfiguration validatingwebhookconfigurations
volumeattachment volumeattachments volumeattributesclass volumeattributesclasses vac
`)
