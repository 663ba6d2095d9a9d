import type { Clock, Settings } from '@steeple/contracts'
import { openMeshIdentity, openSecrets } from '@steeple/secrets'
import { isLoopback, parseListenAddress, readCertificateFiles } from '@steeple/settings'
import { certificateStanding } from '../composition/certificate-standing.ts'
import { type Check, doubtful, broken as failed, healthy } from './check.ts'

/** What the listener presents, and who may listen in where it presents nothing. */
export function checkTransport(settings: Settings, clock: Clock): readonly Check[] {
  const { tls, server } = settings
  if (!tls.enabled) return [checkPlain(server.listen)]
  const { cert_file, key_file } = tls
  const shown = cert_file === '' ? fromMesh(server.data_dir) : readCertificateFiles(cert_file, key_file)
  if (shown === undefined) return []
  if ('file' in shown)
    return [
      failed(
        'transport',
        `tls.${shown.file} ${shown.message}`,
        'correct the file; the service looks again by itself',
      ),
    ]
  const from = cert_file === '' ? 'the certificate of its mesh' : cert_file
  const remedy =
    cert_file === ''
      ? 'keep the service running: it renews it'
      : 'renew it; the service looks at the file by itself'
  return [judge(shown.cert, from, remedy, clock)]
}

/** Tokens and passwords cross a network in the clear. */
function checkPlain(listen: string): Check {
  const host = parseListenAddress(listen)?.host ?? ''
  if (isLoopback(host)) return healthy('transport', 'plain HTTP, on this machine alone')
  return doubtful(
    'transport',
    'plain HTTP: whoever is on the network reads tokens and passwords',
    'set tls.enabled, or put server.listen on 127.0.0.1',
  )
}

/** Keys that cannot be opened are the business of another check. */
function fromMesh(dataDir: string): { readonly cert: string } | undefined {
  try {
    return openMeshIdentity(openSecrets(dataDir)).tls()
  } catch {
    return undefined
  }
}

function judge(pem: string, from: string, remedy: string, clock: Clock): Check {
  const { state, leftDays, validFrom } = certificateStanding(pem, clock.nowMs())
  if (state === 'early')
    return doubtful('transport', `${from} is good from ${validFrom} on`, 'check the clock')
  if (state === 'expired') return failed('transport', `${from} has expired`, remedy)
  if (state === 'ending') return doubtful('transport', `${from} ends in ${leftDays} days`, remedy)
  return healthy('transport', `TLS with ${from}, good for ${leftDays} days`)
}
