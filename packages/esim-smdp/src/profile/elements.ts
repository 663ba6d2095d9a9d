/** Tags of the profile elements. TCA "eUICC Profile Package: Interoperable Format Technical Specification" 3.3, annex. */
export const ELEMENT = {
  header: 0xa0,
  genericFileManagement: 0xa1,
  pinCodes: 0xa2,
  pukCodes: 0xa3,
  akaParameter: 0xa4,
  cdmaParameter: 0xa5,
  securityDomain: 0xa6,
  rfm: 0xa7,
  application: 0xa8,
  nonStandard: 0xa9,
  end: 0xaa,
  mf: 0xb0,
  cd: 0xb1,
  telecom: 0xb2,
  usim: 0xb3,
  'opt-usim': 0xb4,
  isim: 0xb5,
  'opt-isim': 0xb6,
  phonebook: 0xb7,
  'gsm-access': 0xb8,
  csim: 0xb9,
  'opt-csim': 0xba,
  eap: 0xbb,
  'df-5gs': 0xbc,
  'df-saip': 0xbd,
  'df-snpn': 0xbe,
  'df-5gprose': 0xbf1f,
  iot: 0xbf20,
  'opt-iot': 0xbf21,
} as const
export type ElementName = keyof typeof ELEMENT

const NAMES: ReadonlyMap<number, ElementName> = new Map(
  Object.entries(ELEMENT).map(([name, tag]) => [tag, name as ElementName]),
)

/** Its name; undefined for what is none. */
export function elementName(tag: number): ElementName | undefined {
  return NAMES.get(tag)
}

/** Files by their place in an element, from the object with that number on; ADF or DF first. TCA 3.3 annex. */
const FILES: Readonly<Partial<Record<ElementName, readonly string[]>>> = {
  mf: ['mf', 'ef-pl', 'ef-iccid', 'ef-dir', 'ef-arr', 'ef-umpc'],
  usim: [
    ...['adf-usim', 'ef-imsi', 'ef-arr', 'ef-keys', 'ef-keysps', 'ef-hpplmn', 'ef-ust', 'ef-fdn', 'ef-sms'],
    ...['ef-smsp', 'ef-smss', 'ef-spn', 'ef-est', 'ef-start-hfn', 'ef-threshold', 'ef-psloci', 'ef-acc'],
    ...['ef-fplmn', 'ef-loci', 'ef-ad', 'ef-ecc', 'ef-netpar', 'ef-epsloci', 'ef-epsnsc'],
  ],
  isim: ['adf-isim', 'ef-impi', 'ef-impu', 'ef-domain', 'ef-ist', 'ef-ad', 'ef-arr'],
}

/** Words for a part of an element: a file's name where it is known, the tag otherwise. */
export function partName(element: ElementName, tag: number): string {
  return FILES[element]?.[(tag & 0x1f) - 2] ?? hexTag(tag)
}

/** A tag as specifications write it: `BF20`. */
export function hexTag(tag: number): string {
  return tag.toString(16).toUpperCase().padStart(2, '0')
}

/** Whether the element makes files out of a template of the specification: all behind its template id are files. */
export function isOfFiles(name: ElementName): boolean {
  const tag = ELEMENT[name]
  return tag >= ELEMENT.mf && tag <= ELEMENT['df-snpn'] && name !== 'eap'
}

/** Services of a header, by tag. TCA 3.3, ServicesList. */
export const SERVICE = {
  usim: 0x81,
  isim: 0x82,
  csim: 0x83,
  milenage: 0x84,
  tuak128: 0x85,
  cave: 0x86,
  'gba-usim': 0x87,
  'gba-isim': 0x88,
  'multiple-usim': 0x8d,
  'multiple-isim': 0x8e,
  'multiple-csim': 0x8f,
  tuak256: 0x90,
  'usim-test-algorithm': 0x91,
  'get-identity': 0x95,
  'profile-a-x25519': 0x96,
  'profile-b-p256': 0x97,
} as const
export type ServiceName = keyof typeof SERVICE

/** Bits of UICCCapability that say that an eUICC has a service; of the others it says nothing. SGP.22 annex H. */
export const CAPABILITY_BIT: Readonly<Partial<Record<ServiceName, number>>> = {
  usim: 1,
  isim: 2,
  csim: 3,
  milenage: 4,
  cave: 5,
  'gba-usim': 10,
  'gba-isim': 11,
  'multiple-usim': 16,
  'multiple-isim': 17,
  'multiple-csim': 18,
  'get-identity': 22,
  'profile-a-x25519': 23,
  'profile-b-p256': 24,
}
