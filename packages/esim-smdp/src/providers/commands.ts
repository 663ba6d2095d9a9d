import { readFile } from 'node:fs/promises'
import { type CommandHost, type Commands, countText } from '@steeple/contracts'

/** A SIM with a reason, as two routes answer it. */
interface Reasoned {
  readonly imsi_sha256_12: string
  readonly reason: string
}

/** `svc esim provider …` */
export const providerCommands: Commands = {
  'esim provider set': async (host) => {
    const { provider: id, name, es2Url: url, requester, profileType, notifySubject } = host.typed
    const file = async (option: unknown): Promise<string | undefined> =>
      typeof option === 'string' ? (await fileOf(host, option)).toString('utf8') : undefined
    const body = {
      name,
      url,
      requester,
      profile_type: profileType,
      notify_subject: notifySubject,
      ca: await file(host.typed.serverCa),
      cert: await file(host.typed.clientCert),
      key: await file(host.typed.clientKey),
      order_key: await file(host.typed.orderKey),
    }
    const record = await host.call('PUT /v1/esim/providers/{id}', { path: { id }, body })
    host.printRecord(record)
    if (body.order_key !== undefined && !host.isJson)
      host.err(
        'Compare order_key_fingerprint with the provider by telephone before you send an order file.\n',
      )
  },
  'esim provider order-file': async (host) => {
    const { provider: id, out } = host.typed
    const made = await host.call('POST /v1/esim/providers/{id}/order-file', {
      path: { id },
      body: simsIn(host),
    })
    const file = typeof out === 'string' ? out : String(made.file)
    await host.writeSecret(file, String(made.order))
    const { order: _, ...rest } = made
    if (host.isJson) return host.printRecord({ ...rest, file })
    host.out(
      `${file}: ${countText(String(made.sims), 'SIM', 'SIMs')}, encrypted to ${String(made.key_fingerprint)}\n`,
    )
    tellLeftOut(host, made.left_out)
  },
  'esim provider import': async (host) => {
    const { provider: id, file, dryRun } = host.typed
    const content = file === '-' ? Buffer.from(await host.input(), 'utf8') : await fileOf(host, String(file))
    const report = await host.call('POST /v1/esim/providers/{id}/codes', {
      path: { id },
      query: { dry_run: dryRun === true ? true : undefined },
      body: { type: 'text/csv', content },
    })
    const { rows, ...totals } = report
    if (host.isJson) host.out(host.json(report))
    else {
      host.out(host.fields(totals))
      // As the route documents it.
      for (const row of rows as readonly Readonly<Record<string, unknown>>[])
        if (row.status === 'error')
          host.err(
            `line ${String(row.line)} (ICCID …${String(row.iccid_last4 ?? '????')}): ${host.printable(String(row.error))}\n`,
          )
    }
    if (report.failed !== 0) host.answer(1)
  },
  'esim provider order': order,
}

async function order(host: CommandHost): Promise<void> {
  const { provider: id, confirmationCode: code, eid, hold } = host.typed
  const confirmation_code = code === '-' ? (await host.input()).replace(/\r?\n$/, '') : code
  const body = { ...simsIn(host), eid, confirmation_code, release: hold === true ? false : undefined }
  const sum = { ordered: 0, failed: [] as Reasoned[], left_out: [] as unknown, remaining: 0 }
  // The service orders some at a time, each durable when it is answered.
  do {
    const part = await host.call('POST /v1/esim/providers/{id}/order', { path: { id }, body })
    const failed = part.failed as readonly Reasoned[] // as the route documents it
    sum.ordered += Number(part.ordered)
    sum.failed.push(...failed)
    sum.left_out = part.left_out
    sum.remaining = Number(part.remaining)
    // What was refused once would be asked for again and again.
    if (failed.length > 0) break
  } while (sum.remaining > 0)
  if (host.isJson) host.out(host.json(sum))
  else {
    host.out(`${countText(String(sum.ordered), 'code is', 'codes are')} ordered\n`)
    for (const { imsi_sha256_12: sim, reason } of sum.failed) host.err(`${sim}: ${host.printable(reason)}\n`)
    tellLeftOut(host, sum.left_out)
    if (sum.remaining > 0)
      host.err(
        `${countText(sum.remaining, 'SIM is', 'SIMs are')} left: the same command goes on with them.\n`,
      )
  }
  if (sum.failed.length > 0) host.answer(1)
}

function simsIn({ typed, simHash, usage }: CommandHost): {
  readonly batch_id: unknown
  readonly imsis: unknown
} {
  const { batch, sim } = typed
  if ((batch === undefined) === (sim === undefined)) throw usage('name a batch by --batch, or SIMs by --sim')
  return { batch_id: batch, imsis: sim === undefined ? undefined : (sim as readonly string[]).map(simHash) }
}

function tellLeftOut({ err, printable }: CommandHost, leftOut: unknown): void {
  // As the routes document it.
  for (const { imsi_sha256_12: sim, reason } of leftOut as readonly Reasoned[])
    err(`${sim} is left out: ${printable(reason)}\n`)
}

async function fileOf(host: CommandHost, file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw host.unreadable(file, error)
  }
}
