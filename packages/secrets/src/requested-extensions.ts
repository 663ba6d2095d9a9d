import {
  type Attribute,
  BasicConstraintsExtension,
  type Extension,
  ExtensionsAttribute,
  KeyUsageFlags,
  KeyUsagesExtension,
  type Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509'

/** RFC 2985 §5.4.2, and the same of Microsoft's tools ([MS-WCCE] 2.2.2.7.7.2). */
const EXTENSION_REQUESTS: readonly string[] = ['1.2.840.113549.1.9.14', '1.3.6.1.4.1.311.2.1.14']
/** RFC 5280 §4.2.1.9, §4.2.1.3, §4.2.1.6. */
const BASIC_CONSTRAINTS = '2.5.29.19'
const KEY_USAGE = '2.5.29.15'
const ALTERNATIVE_NAME = '2.5.29.17'
const OF_A_CA = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign
/** Of a name that is told to whoever asked for it. */
const MOST_SHOWN = 100

/**
 * What a certificate request asks for that nobody honest asks for, in words; undefined when there is nothing of it.
 *
 * Nothing of a request gets into a certificate in any case. `own`: names that its maker has. Throws when it cannot be read.
 */
export function wrongWish(request: Pkcs10CertificateRequest, own: readonly string[]): string | undefined {
  const known = new Set(own.map((name) => name.toLowerCase()))
  for (const attribute of request.attributes) {
    if (!EXTENSION_REQUESTS.includes(attribute.type)) continue
    for (const extension of extensionsOf(attribute)) {
      const wrong = wrongExtension(extension, known)
      if (wrong !== undefined) return wrong
    }
  }
  return undefined
}

function extensionsOf(attribute: Attribute): readonly Extension[] {
  // RFC 2985 §5.4.2: single-valued. The library reads the first value alone.
  if (attribute.values.length > 1) throw new Error('two requests for extensions in one attribute')
  return attribute instanceof ExtensionsAttribute
    ? attribute.items
    : new ExtensionsAttribute(attribute.rawData).items
}

function wrongExtension(extension: Extension, known: ReadonlySet<string>): string | undefined {
  if (extension.type === BASIC_CONSTRAINTS) {
    const isCa = new BasicConstraintsExtension(extension.rawData).ca
    return isCa ? 'asks to be a CA (basicConstraints CA:TRUE); leave that out' : undefined
  }
  if (extension.type === KEY_USAGE) {
    const { usages } = new KeyUsagesExtension(extension.rawData)
    return (usages & OF_A_CA) === 0
      ? undefined
      : 'asks to sign for others (keyUsage keyCertSign or cRLSign); leave that out'
  }
  if (extension.type !== ALTERNATIVE_NAME) return undefined
  for (const { type, value } of new SubjectAlternativeNameExtension(extension.rawData).names.items) {
    if ((type === 'dns' || type === 'ip' || type === 'url') && known.has(value.toLowerCase())) continue
    const shown = JSON.stringify(value.slice(0, MOST_SHOWN))
    return `asks for a name that is not its own (subjectAltName ${type} ${shown}); leave that out`
  }
  return undefined
}
