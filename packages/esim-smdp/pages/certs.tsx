import {
  api,
  Button,
  type Column,
  DataTable,
  EmptyState,
  ErrorNotice,
  Field,
  FormDialog,
  type ItemOf,
  Lamp,
  Progress,
  saveFile,
  Time,
  t,
  toast,
  useAction,
  useRows,
  useState,
  word,
} from '@steeple/console/kit'

type Cert = ItemOf<'/v1/esim/certs'>
type Open = { readonly what: 'init' | 'import' } | { readonly what: 'remove' | 'revoke'; readonly cert: Cert }

const keyOf = (cert: Cert): string => cert.id

/** What phones believe this box by. */
export function Certs() {
  const certs = useRows('/v1/esim/certs', {}, { keyOf, onAll: ['esim_cert.*'] })
  const [open, setOpen] = useState<Open | undefined>(undefined)
  const close = (): void => {
    setOpen(undefined)
    certs.reload()
  }
  const restore = useAction((id: string) =>
    api.post('/v1/esim/certs/revoke', { body: { id, restore: true } }),
  )
  const believe = async (cert: Cert): Promise<void> => {
    if ((await restore.run(cert.id))?.ok !== true) return
    toast({ text: t('esim.cert.restored', { subject: nameIn(cert.subject) }) })
    certs.reload()
  }
  const act: Acts = {
    remove: (cert) => setOpen({ what: 'remove', cert }),
    revoke: (cert) => setOpen({ what: 'revoke', cert }),
    restore: (cert) => void believe(cert),
  }
  return (
    <>
      <div class="toolbar">
        <Button onClick={() => setOpen({ what: 'import' })}>{t('esim.certs.import')}</Button>
        <Button onClick={() => setOpen({ what: 'init' })}>{t('esim.certs.init')}</Button>
      </div>
      <ErrorNotice error={certs.error} onRetry={certs.reload} />
      <ErrorNotice error={restore.error} />
      {certs.isLoading ? (
        <Progress label={t('app.loading')} />
      ) : (
        <DataTable
          label={t('esim.certs')}
          rows={certs.rows}
          columns={columns(act)}
          keyOf={keyOf}
          empty={<EmptyState title={t('esim.certs.none')}>{t('esim.certs.none.help')}</EmptyState>}
          footer={certs.isMore ? <Button onClick={certs.more}>{t('ui.more')}</Button> : undefined}
        />
      )}
      {open?.what === 'init' ? <InitDialog onClose={close} /> : null}
      {open?.what === 'import' ? <ImportCertsDialog onClose={close} /> : null}
      {open?.what === 'revoke' ? (
        <RevokeDialog cert={open.cert} onClose={close} onUndo={() => void believe(open.cert)} />
      ) : null}
      {open?.what === 'remove' ? <RemoveDialog cert={open.cert} onClose={close} /> : null}
    </>
  )
}

/** What can be done with a certificate. */
interface Acts {
  readonly remove: (cert: Cert) => void
  readonly revoke: (cert: Cert) => void
  readonly restore: (cert: Cert) => void
}

function columns(act: Acts): readonly Column<Cert>[] {
  return [
    { key: 'role', title: t('esim.cert.role'), cell: ({ role }) => word('esim.cert.role', role) },
    {
      key: 'subject',
      title: t('esim.cert.subject'),
      cell: ({ subject }) => <span title={subject}>{nameIn(subject)}</span>,
    },
    { key: 'curve', title: t('esim.cert.curve'), isWide: true, cell: ({ curve }) => curve },
    { key: 'until', title: t('sims.expires'), cell: ({ not_after: at }) => <Time at={at} dateOnly /> },
    {
      key: 'use',
      title: t('sims.filter.state'),
      cell: ({ revoked, in_use: isUsed }) =>
        revoked ? (
          <Lamp tone="bad" label={t('sims.state.revoked')} />
        ) : (
          <Lamp tone={isUsed ? 'ok' : 'none'} label={t(isUsed ? 'esim.cert.used' : 'esim.cert.unused')} />
        ),
    },
    {
      key: 'do',
      title: t('esim.cert.do'),
      cell: (cert) => (
        <span class="row-actions">
          <Button
            kind="quiet"
            label={t('esim.cert.save.of', { subject: nameIn(cert.subject) })}
            onClick={() => void savePem(cert)}
          >
            {t('esim.cert.save')}
          </Button>
          <Button
            kind="quiet"
            label={t('esim.cert.remove.of', { subject: nameIn(cert.subject) })}
            onClick={() => act.remove(cert)}
          >
            {t('esim.cert.remove')}
          </Button>
          <Belief cert={cert} act={act} />
        </span>
      ),
    },
  ]
}

/** Takes one back, or that back; an issuer stands for itself. */
function Belief({ cert, act }: { readonly cert: Cert; readonly act: Acts }) {
  if (cert.role === 'ci') return null
  const [what, run] = cert.revoked ? (['restore', act.restore] as const) : (['revoke', act.revoke] as const)
  return (
    <Button
      kind="quiet"
      label={t(`esim.cert.${what}.of`, { subject: nameIn(cert.subject) })}
      onClick={() => run(cert)}
    >
      {t(`esim.cert.${what}`)}
    </Button>
  )
}

/** The common name, which tells certificates apart; all of it stands behind. */
function nameIn(subject: string): string {
  return /(?:^|, ?)CN=([^,]+)/.exec(subject)?.[1] ?? subject
}

async function savePem({ id, role }: Cert): Promise<void> {
  const answer = await api.get('/v1/esim/certs/{id}', { path: { id } })
  if (answer.ok) saveFile(`${role}-${id.slice(0, 8)}.pem`, answer.data.pem, 'application/x-pem-file')
  else toast({ text: answer.error.message, tone: 'bad' })
}

function InitDialog({ onClose }: { readonly onClose: () => void }) {
  const [host, setHost] = useState('')
  return (
    <FormDialog
      text="esim.certs.init"
      act={() => api.post('/v1/esim/certs/init', { body: host === '' ? {} : { host } })}
      onDone={onClose}
      onClose={onClose}
    >
      <Field text="esim.certs.host" value={host} onInput={setHost} />
    </FormDialog>
  )
}

function RemoveDialog({ cert, onClose }: { readonly cert: Cert; readonly onClose: () => void }) {
  return (
    <FormDialog
      text="esim.cert.remove"
      values={{ subject: cert.subject }}
      what={t(cert.in_use ? 'esim.cert.remove.used' : 'esim.cert.remove.what')}
      isDanger
      act={() => api.delete('/v1/esim/certs/{id}', { path: { id: cert.id } })}
      onDone={onClose}
      onClose={onClose}
    />
  )
}

function RevokeDialog({
  cert,
  onClose,
  onUndo,
}: {
  readonly cert: Cert
  readonly onClose: () => void
  readonly onUndo: () => void
}) {
  const subject = nameIn(cert.subject)
  return (
    <FormDialog
      text="esim.cert.revoke"
      values={{ subject }}
      isDanger
      act={() => api.post('/v1/esim/certs/revoke', { body: { id: cert.id } })}
      onDone={() => {
        toast({ text: t('esim.cert.revoked', { subject }), undo: onUndo })
        onClose()
      }}
      onClose={onClose}
    />
  )
}

/** Takes certificates and their keys from files, all or none. */
function ImportCertsDialog({ onClose }: { readonly onClose: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([])
  return (
    <FormDialog
      text="esim.certs.import"
      isDisabled={files.length === 0}
      act={async () =>
        api.post('/v1/esim/certs/import', { body: { files: await Promise.all(files.map(contentOf)) } })
      }
      done={({ certs }) => t('esim.certs.imported', { count: certs.length })}
      onClose={onClose}
    >
      <div class="field">
        <label for="certs-files">{t('esim.certs.files')}</label>
        <input
          id="certs-files"
          type="file"
          multiple
          accept=".pem,.der,.key,.crt,.cer,.crl"
          onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
        />
      </div>
    </FormDialog>
  )
}

/** PEM and DER alike, as the service takes both. */
async function contentOf(file: File): Promise<{ readonly name: string; readonly base64: string }> {
  const octets = new Uint8Array(await file.arrayBuffer())
  return { name: file.name, base64: btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join('')) }
}
