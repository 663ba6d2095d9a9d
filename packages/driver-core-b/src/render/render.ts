import { type Rendered, validationFailed } from '@steeple/contracts'
import { type PlacedDesired, renderedOf, type Section, yamlText } from '@steeple/southbound'
import { amfFile, ausfFile, nrfFile, nssfFile } from './access-files.ts'
import {
  certificateOf,
  functionFile,
  LOGGER,
  mongoOf,
  plmnOf,
  sbiSections,
  snssaiOf,
} from './common-sections.ts'
import { type CorePlan, databaseOf, type RenderSettings, type SessionPool } from './core-plan.ts'
import { functionsOf, type NetworkFunction, placesOf } from './functions.ts'
import { ipv4RangeText, parseIpv4Range, partsOf } from './pools.ts'
import { problemsOf } from './problems.ts'
import { releaseTraits } from './release.ts'

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
  if (problems.length > 0 || range === undefined || database === undefined || release === undefined) {
    throw validationFailed(problems.join('\n'), {
      details: problems.map((line) => {
        const [key = ''] = line.split(' ')
        return { pointer: `/${key.replaceAll('.', '/')}`, message: line.slice(key.length + 1) }
      }),
    })
  }
  const parts = partsOf(range, settings.slices.length * desired.apns.length)
  const pools = settings.slices
    .flatMap(({ sst, sd }) => desired.apns.map((dnn) => ({ sst, sd, dnn })))
    .flatMap((session, index): readonly SessionPool[] => {
      const part = parts[index]
      return part === undefined ? [] : [{ ...session, cidr: ipv4RangeText(part) }]
    })
  return {
    desired,
    settings,
    functions: functionsOf(settings.charging),
    places: placesOf(desired.addresses),
    pools,
    database,
    release,
  }
}
