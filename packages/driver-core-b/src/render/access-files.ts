import type { Section } from '@steeple/southbound'
import {
  certificateOf,
  functionFile,
  plmnOf,
  sbiOf,
  sbiSections,
  slicesOf,
  snssaiOf,
  taiOf,
} from './common-sections.ts'
import type { CorePlan } from './core-plan.ts'
import { METRICS_PORT, SBI_PORT } from './functions.ts'

/** Region, set and pointer of the only AMF, TS 23.003 §2.10.1: that of the sample. */
const AMF_ID = 'cafe00'
/** TS 38.412 §7: the SCTP port of NGAP. */
const NGAP_PORT = 38_412
/** NAS timers on the network's side, TS 24.501 table 10.2.2. */
const NAS_TIMER: Section = { enable: true, expireTime: '6s', maxRetryTimes: 4 }

/** amfcfg.yaml */
export function amfFile(plan: CorePlan): Section {
  const { release, desired, places } = plan
  return functionFile('amf', {
    amfName: 'AMF',
    ngapIpList: [places.n2],
    ngapPort: NGAP_PORT,
    ...sbiSections(plan, 'amf'),
    ...(release.hasMetrics ? { metrics: metricsOf(places.of('amf')) } : {}),
    serviceNameList: [
      'namf-comm',
      'namf-evts',
      'namf-mt',
      'namf-loc',
      'namf-oam',
      ...(release.listsCallbacks ? ['namf-callback'] : []),
    ],
    servedGuamiList: [{ plmnId: plmnOf(plan), amfId: AMF_ID }],
    supportTaiList: [taiOf(plan)],
    plmnSupportList: [{ plmnId: plmnOf(plan), snssaiList: slicesOf(plan) }],
    supportDnnList: [...desired.apns],
    // Every phone has these, TS 33.501 §5.3.2; the null ciphering of the sample is left out.
    security: { integrityOrder: ['NIA2', 'NIA1'], cipheringOrder: ['NEA2', 'NEA1'] },
    networkName: { full: 'Steeple', short: 'Steeple' },
    ngapIE: {
      mobilityRestrictionList: { enable: true },
      maskedIMEISV: { enable: true },
      redirectionVoiceFallback: { enable: false },
    },
    nasIE: {
      networkFeatureSupport5GS: {
        enable: true,
        length: 1,
        imsVoPS: 0,
        emc: 0,
        emf: 0,
        iwkN26: 0,
        mpsi: 0,
        emcN3: 0,
        mcsi: 0,
      },
    },
    t3502Value: 720,
    t3512Value: 3600,
    non3gppDeregTimerValue: 3240,
    t3513: NAS_TIMER,
    t3522: NAS_TIMER,
    t3550: NAS_TIMER,
    t3555: NAS_TIMER,
    t3560: NAS_TIMER,
    t3565: NAS_TIMER,
    t3570: NAS_TIMER,
    locality: 'area1',
    sctp: { numOstreams: 3, maxInstreams: 5, maxAttempts: 2, maxInitTimeout: 2 },
    defaultUECtxReq: false,
  })
}

function metricsOf(address: string): Section {
  return { enable: true, scheme: 'http', bindingIPv4: address, port: METRICS_PORT, namespace: 'free5gc' }
}

/** nrfcfg.yaml */
export function nrfFile(plan: CorePlan): Section {
  const { database, settings } = plan
  return functionFile('nrf', {
    MongoDBName: database.name,
    MongoDBUrl: database.url,
    sbi: sbiOf(plan, 'nrf', {
      cert: certificateOf('nrf'),
      rootcert: certificateOf('root'),
      oauth: settings.oauth,
    }),
    DefaultPlmnId: plmnOf(plan),
    serviceNameList: ['nnrf-nfm', 'nnrf-disc'],
  })
}

/** ausfcfg.yaml */
export function ausfFile(plan: CorePlan): Section {
  return functionFile('ausf', {
    ...sbiSections(plan, 'ausf'),
    serviceNameList: ['nausf-auth'],
    plmnSupportList: [plmnOf(plan)],
    groupId: 'ausfGroup001',
    eapAkaSupiImsiPrefix: false,
  })
}

/** nssfcfg.yaml: one AMF, every slice in the one tracking area. */
export function nssfFile(plan: CorePlan): Section {
  const nrfId = `http://${plan.places.of('nrf')}:${SBI_PORT}/nnrf-nfm/v1/nf-instances`
  return functionFile('nssf', {
    nssfName: 'NSSF',
    ...sbiSections(plan, 'nssf'),
    serviceNameList: ['nnssf-nsselection', 'nnssf-nssaiavailability'],
    supportedPlmnList: [plmnOf(plan)],
    supportedNssaiInPlmnList: [{ plmnId: plmnOf(plan), supportedSnssaiList: slicesOf(plan) }],
    nsiList: plan.settings.slices.map((slice, index) => ({
      snssai: snssaiOf(slice),
      nsiInformationList: [{ nrfId, nsiId: String(index + 1) }],
    })),
    amfSetList: [],
    amfList: [],
    taList: [{ tai: taiOf(plan), accessType: '3GPP_ACCESS', supportedSnssaiList: slicesOf(plan) }],
    mappingListFromPlmn: [],
  })
}
