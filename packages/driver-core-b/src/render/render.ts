import type { Rendered } from '@steeple/contracts'
import {
  type PlacedDesired,
  problemsError,
  rangeText,
  renderedOf,
  type Section,
  type YamlValue,
  yamlText,
} from '@steeple/southbound'
import {
  type CorePlan,
  databaseOf,
  type RenderSettings,
  releaseTraits,
  type SessionPool,
} from './core-plan.ts'
import { functionAddresses, functionsOf, METRICS_PORT, type NetworkFunction, SBI_PORT } from './functions.ts'
import { parseIpv4Range, partsOf } from './pools.ts'
import { problemsOf } from './problems.ts'

/** `info.version` that a function compares for equality; the same from 3.4 to 4.2. */
const INFO_VERSION: Readonly<Record<Exclude<NetworkFunction, 'upf'>, string>> = {
  nrf: '1.0.2',
  udr: '1.1.0',
  udm: '1.0.3',
  ausf: '1.0.3',
  nssf: '1.0.2',
  pcf: '1.0.2',
  chf: '1.0.3',
  smf: '1.0.7',
  amf: '1.0.9',
}

const LOGGER: Section = { enable: true, level: 'info', reportCaller: false }

/** The file of a function with a service-based interface. */
function functionFile(nf: Exclude<NetworkFunction, 'upf'>, configuration: Section): Section {
  return { info: { version: INFO_VERSION[nf] }, configuration, logger: LOGGER }
}

/**
 * Where a function listens for the others, and how it finds the NRF.
 *
 * No `nfInstanceId`: a function that comes back under its old id after a crash is answered as an update, in which it does
 * not look for the NRF's word on tokens, and then lets everybody in.
 */
function sbiSections(plan: CorePlan, nf: NetworkFunction): Section {
  return {
    sbi: sbiOf(plan, nf, { tls: certificateOf(nf) }),
    nrfUri: `http://${plan.places.of('nrf')}:${SBI_PORT}`,
    nrfCertPem: 'cert/nrf.pem',
  }
}

/** Where a function listens for the others. */
function sbiOf(plan: CorePlan, nf: NetworkFunction, more: Section): Section {
  const address = plan.places.of(nf)
  return { scheme: 'http', registerIPv4: address, bindingIPv4: address, port: SBI_PORT, ...more }
}

/** Certificate files, relative to where the function runs; some are read although the interface has no TLS. */
function certificateOf(name: string): Section {
  return { pem: `cert/${name}.pem`, key: `cert/${name}.key` }
}

/** The PLMN, its digits as texts. */
function plmnOf({ desired: { plmn } }: CorePlan): Section {
  return { mcc: plmn.mcc, mnc: plmn.mnc }
}

/** The tracking area code as free5GC spells it: six hexadecimal digits, TS 29.571 §5.4.2. */
function tacOf({ desired }: CorePlan): string {
  return desired.tac.toString(16).padStart(6, '0')
}

function taiOf(plan: CorePlan): Section {
  return { plmnId: plmnOf(plan), tac: tacOf(plan) }
}

function snssaiOf({ sst, sd }: { readonly sst: number; readonly sd?: string | undefined }): Section {
  return sd === undefined ? { sst } : { sst, sd }
}

function slicesOf({ settings }: CorePlan): readonly YamlValue[] {
  return settings.slices.map(snssaiOf)
}

/** The document store as UDR, PCF and CHF spell it. */
function mongoOf({ database }: CorePlan): Section {
  return { name: database.name, url: database.url }
}

/** Region, set and pointer of the only AMF, TS 23.003 §2.10.1: that of the sample. */
const AMF_ID = 'cafe00'
/** TS 38.412 §7: the SCTP port of NGAP. */
const NGAP_PORT = 38_412
/** NAS timers on the network's side, TS 24.501 table 10.2.2. */
const NAS_TIMER: Section = { enable: true, expireTime: '6s', maxRetryTimes: 4 }

/** amfcfg.yaml */
function amfFile(plan: CorePlan): Section {
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
function nrfFile(plan: CorePlan): Section {
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
function ausfFile(plan: CorePlan): Section {
  return functionFile('ausf', {
    ...sbiSections(plan, 'ausf'),
    serviceNameList: ['nausf-auth'],
    plmnSupportList: [plmnOf(plan)],
    groupId: 'ausfGroup001',
    eapAkaSupiImsiPrefix: false,
  })
}

/** nssfcfg.yaml: one AMF, every slice in the one tracking area. */
function nssfFile(plan: CorePlan): Section {
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

/** The names of the only gNB entry and the only UPF in the SMF's picture. */
const AN_NODE = 'gNB1'
const UPF_NODE = 'UPF'
/** NAS timers of the SMF, TS 24.501 table 10.3.2. */
const SESSION_TIMER: Section = { enable: true, expireTime: '16s', maxRetryTimes: 3 }

/** smfcfg.yaml */
function smfFile(plan: CorePlan): Section {
  const { places, release } = plan
  return functionFile('smf', {
    smfName: 'SMF',
    ...sbiSections(plan, 'smf'),
    serviceNameList: [
      'nsmf-pdusession',
      'nsmf-event-exposure',
      'nsmf-oam',
      ...(release.listsCallbacks ? ['nsmf-callback'] : []),
    ],
    snssaiInfos: plan.settings.slices.map((slice) => ({
      sNssai: snssaiOf(slice),
      dnnInfos: plan.desired.apns.map((dnn) => ({ dnn, dns: { ipv4: places.dns } })),
    })),
    plmnList: [plmnOf(plan)],
    locality: 'area1',
    pfcp: {
      nodeID: places.n4,
      listenAddr: places.n4,
      externalAddr: places.n4,
      assocFailAlertInterval: '10s',
      assocFailRetryInterval: '30s',
      heartbeatInterval: '10s',
    },
    userplaneInformation: userPlane(plan),
    t3591: SESSION_TIMER,
    t3592: SESSION_TIMER,
    urrPeriod: 30,
    urrThreshold: 500_000,
    requestedUnit: 1000,
  })
}

function userPlane(plan: CorePlan): Section {
  const { places, desired, settings } = plan
  return {
    upNodes: {
      [AN_NODE]: { type: 'AN' },
      [UPF_NODE]: {
        type: 'UPF',
        nodeID: places.of('upf'),
        addr: places.of('upf'),
        sNssaiUpfInfos: settings.slices.map((slice) => ({
          sNssai: snssaiOf(slice),
          dnnUpfInfoList: plan.pools
            .filter(({ sst, sd }) => sst === slice.sst && sd === slice.sd)
            .map(({ dnn, cidr }) => ({ dnn, pools: [{ cidr }] })),
        })),
        interfaces: [{ interfaceType: 'N3', endpoints: [places.n3], networkInstances: [...desired.apns] }],
      },
    },
    links: [{ A: AN_NODE, B: UPF_NODE }],
  }
}

/** uerouting.yaml: the SMF reads it at its start; no subscriber takes a path of its own. */
function routingFile(): Section {
  return { info: { version: '1.0.7' }, ueRoutingInfo: {} }
}

/** upfcfg.yaml */
function upfFile({ places, pools }: CorePlan): Section {
  return {
    version: '1.0.3',
    pfcp: { addr: places.of('upf'), nodeID: places.of('upf'), retransTimeout: '1s', maxRetrans: 3 },
    gtpu: { forwarder: 'gtp5g', ifList: [{ addr: places.n3, type: 'N3' }] },
    dnnList: pools.map(({ dnn, cidr }) => ({ dnn, cidr })),
    logger: LOGGER,
  }
}

/** Diameter ports between the parts of the CHF; RFC 6733 §2.1 and the next. */
const ABMF_PORT = 3868
const RATING_PORT = 3869

/** udmcfg.yaml: no home network key, so phones conceal nothing and their SIMs need no public key. */
function udmFile(plan: CorePlan): Section {
  return functionFile('udm', {
    serviceNameList: ['nudm-sdm', 'nudm-uecm', 'nudm-ueau', 'nudm-ee', 'nudm-pp'],
    ...sbiSections(plan, 'udm'),
  })
}

/** udrcfg.yaml */
function udrFile(plan: CorePlan): Section {
  return functionFile('udr', {
    ...sbiSections(plan, 'udr'),
    dbConnectorType: 'mongodb',
    mongodb: mongoOf(plan),
  })
}

/** pcfcfg.yaml: no BSF runs. */
function pcfFile(plan: CorePlan): Section {
  return functionFile('pcf', {
    pcfName: 'PCF',
    ...sbiSections(plan, 'pcf'),
    timeFormat: '2019-01-02 15:04:05',
    defaultBdtRefId: 'BdtPolicyId-',
    bsf: { enable: false },
    serviceList: [
      { serviceName: 'npcf-am-policy-control' },
      { serviceName: 'npcf-smpolicycontrol', suppFeat: '3fff' },
      { serviceName: 'npcf-bdtpolicycontrol' },
      { serviceName: 'npcf-policyauthorization', suppFeat: '3' },
      { serviceName: 'npcf-eventexposure' },
      { serviceName: 'npcf-ue-policy-control' },
      ...(plan.release.listsCallbacks ? [{ serviceName: 'npcf-callback' }] : []),
    ],
    mongodb: mongoOf(plan),
    locality: 'area1',
  })
}

/** chfcfg.yaml: charging records go to files only, nothing is uploaded. */
function chfFile(plan: CorePlan): Section {
  const diameter = (port: number): Section => ({
    protocol: 'tcp',
    hostIPv4: plan.places.of('chf'),
    port,
    tls: certificateOf('chf'),
  })
  return functionFile('chf', {
    chfName: 'CHF',
    ...sbiSections(plan, 'chf'),
    serviceNameList: ['nchf-convergedcharging'],
    mongodb: mongoOf(plan),
    quotaValidityTime: 10_000,
    volumeLimit: 50_000,
    volumeLimitPDU: 10_000,
    volumeThresholdRate: 0.8,
    // Its other keys are asked for although it is off.
    cgf: {
      enable: false,
      hostIPv4: '127.0.0.1',
      port: 2121,
      listenPort: 2122,
      passiveTransferPortRange: { start: 2123, end: 2130 },
      tls: certificateOf('chf'),
      cdrFilePath: '/tmp',
    },
    abmfDiameter: diameter(ABMF_PORT),
    rfDiameter: diameter(RATING_PORT),
  })
}

const FILES: Readonly<Record<NetworkFunction, (plan: CorePlan) => Section>> = {
  nrf: nrfFile,
  udr: udrFile,
  udm: udmFile,
  ausf: ausfFile,
  nssf: nssfFile,
  pcf: pcfFile,
  chf: chfFile,
  upf: upfFile,
  smf: smfFile,
  amf: amfFile,
}

/**
 * Every file of a core: `<function>cfg.yaml`, and `uerouting.yaml` of the SMF.
 *
 * Pure: same input, same bytes. Throws `validation_failed` with one line per problem.
 */
export function renderCore(desired: PlacedDesired, settings: RenderSettings): Rendered {
  const plan = planFor(desired, settings)
  const files = new Map<string, string>()
  for (const nf of plan.functions) files.set(`${nf}cfg.yaml`, yamlText(FILES[nf](plan)))
  files.set('uerouting.yaml', yamlText(routingFile()))
  return renderedOf(files)
}

function planFor(desired: PlacedDesired, settings: RenderSettings): CorePlan {
  const problems = problemsOf(desired, settings)
  const range = parseIpv4Range(settings.subnet)
  const database = databaseOf(settings.mongoUrl, desired.addresses.mongo)
  const release = releaseTraits(settings.release)
  if (problems.length > 0 || range === undefined || database === undefined || release === undefined)
    throw problemsError(problems)
  const parts = partsOf(range, settings.slices.length * desired.apns.length)
  const pools = settings.slices
    .flatMap(({ sst, sd }) => desired.apns.map((dnn) => ({ sst, sd, dnn })))
    .flatMap((session, index): readonly SessionPool[] => {
      const part = parts[index]
      return part === undefined ? [] : [{ ...session, cidr: rangeText(part) }]
    })
  return {
    desired,
    settings,
    functions: functionsOf(settings.charging),
    places: functionAddresses(desired.addresses),
    pools,
    database,
    release,
  }
}
