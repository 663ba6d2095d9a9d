// The bill of materials of a build: CycloneDX 1.6, from what is in it, never from what could be.
import { createHash } from 'node:crypto'
import { Enums, Serialize, SPDX, Spec } from '@cyclonedx/cyclonedx-library'
import * as models from '@cyclonedx/cyclonedx-library/Models'

const { Bom, Component, Metadata, NamedLicense, SpdxLicense, LicenseExpression } = models

/**
 * The bill as JSON text. `components` are `{name, version, license, purl, needs}`, where `needs` are purls of others in the list;
 * the same list gives the same text.
 */
export function billOf({ version, date, commit }, components) {
  const ref = `pkg:generic/steeple@${version}`
  const whole = new Component(Enums.ComponentType.Application, 'steeple', { version, bomRef: ref, purl: ref })
  whole.licenses.add(new SpdxLicense('Apache-2.0'))
  const bom = new Bom({ version: 1, serialNumber: serialOf(commit, components) })
  bom.metadata = new Metadata({ component: whole, timestamp: new Date(date) })
  const placed = new Map(components.map((one) => [one.purl, componentOf(one)]))
  for (const { purl, needs } of components) {
    const component = placed.get(purl)
    for (const need of needs) component.dependencies.add(placed.get(need).bomRef)
    bom.components.add(component)
    whole.dependencies.add(component.bomRef)
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`
}

/** Of npm: `@scope/name` and a version. */
export function npmPurl(name, version) {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${version}`
}

function componentOf({ name, version, license, purl }) {
  const type = purl.startsWith('pkg:npm/') ? Enums.ComponentType.Library : Enums.ComponentType.Platform
  const [, group, own] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [undefined, undefined, name]
  const component = new Component(type, own, { group, version, purl, bomRef: purl })
  if (license !== undefined) component.licenses.add(licenseOf(license))
  return component
}

function licenseOf(text) {
  if (SPDX.isSupportedSpdxId(text)) return new SpdxLicense(text)
  return /^\(?[\w.+-]+( (AND|OR|WITH) [\w.+-]+)+\)?$/.test(text)
    ? new LicenseExpression(text)
    : new NamedLicense(text)
}

/** A UUID (RFC 9562 version 8) of what the bill is of, so that two builds have one. */
function serialOf(commit, components) {
  const hash = createHash('sha256').update(commit).update(JSON.stringify(components)).digest('hex')
  const variant = ((Number.parseInt(hash[16], 16) & 3) | 8).toString(16)
  return `urn:uuid:${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}
