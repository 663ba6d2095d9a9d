import {
  api,
  Button,
  type Column,
  DialogButton,
  EmptyState,
  ErrorNotice,
  Field,
  FormDialog,
  type ItemOf,
  Lamp,
  PagedTable,
  saveFile,
  t,
  toast,
  useAction,
  usePages,
  useState,
  word,
} from '@steeple/console/kit'

type Cert = ItemOf<'/v1/esim/certs'>

/** What phones believe this box by. */
export function Certs() {
  const certs = usePages('/v1/esim/certs', {}, ['esim_cert.*'])
  const [open, setOpen] = useState<'import' | 'init'>()
  const restore = useAction((id: string) =>
    api.post('/v1/esim/certs/revoke', { body: { id, restore: true } }),
  )
  const acts: Acts = {
    reload: certs.reload,
    restore: async ({ id, subject }) => {
      if ((await restore.run(id))?.ok !== true) return
      toast({ text: t('esim.cert.restored', { subject: nameIn(subject) }) })
      certs.reload()
    },
  }
  const Opened = open === 'import' ? Import : Init
  return (
    <>
      <div class="toolbar">
        <Button onClick={() => setOpen('import')}>{t('esim.certs.import')}</Button>
        <Button onClick={() => setOpen('init')}>{t('esim.certs.init')}</Button>
      </div>
      {open === undefined ? null : <Opened onDone={certs.reload} onClose={() => setOpen(undefined)} />}
      <ErrorNotice error={restore.error} />
      <PagedTable
        query={certs}
        label={t('esim.certs')}
        columns={columns(acts)}
        keyOf={({ id }) => id}
        empty={<EmptyState title={t('esim.certs.none')}>{t('esim.certs.none.help')}</EmptyState>}
      />
    </>
  )
}

/** What follows a change of a certificate, and what takes back that one was taken back. */
interface Acts {
  readonly reload: () => void
  readonly restore: (cert: Cert) => Promise<void>
}

function columns(acts: Acts): readonly Column<Cert>[] {
  return [
    { text: 'esim.cert.role', cell: ({ role }) => word('esim.cert.role', role) },
    { text: 'esim.cert.subject', cell: ({ subject }) => <span title={subject}>{nameIn(subject)}</span> },
    { text: 'esim.cert.curve', isWide: true, of: 'curve' },
    { text: 'sims.expires', of: 'not_after', as: 'day' },
    {
      text: 'sims.filter.state',
      cell: ({ revoked, in_use: isUsed }) =>
        revoked ? (
          <Lamp tone="bad" label={t('sims.state.revoked')} />
        ) : (
          <Lamp tone={isUsed ? 'ok' : 'none'} label={t(isUsed ? 'esim.cert.used' : 'esim.cert.unused')} />
        ),
    },
    {
      text: 'esim.cert.do',
      cell: (cert) => (
        <span class="row-actions">
          <Button
            kind="quiet"
            label={t('esim.cert.save.of', { subject: nameIn(cert.subject) })}
            onClick={() => void savePem(cert)}
          >
            {t('esim.cert.save')}
          </Button>
          <DialogButton
            button={{ kind: 'quiet', label: t('esim.cert.remove.of', { subject: nameIn(cert.subject) }) }}
            text="esim.cert.remove"
            values={{ subject: cert.subject }}
            what={t(cert.in_use ? 'esim.cert.remove.used' : 'esim.cert.remove.what')}
            isDanger
            act={() => api.delete('/v1/esim/certs/{id}', { path: { id: cert.id } })}
            onDone={acts.reload}
          />
          <Belief cert={cert} acts={acts} />
        </span>
      ),
    },
  ]
}

/** Takes one back, or that back; an issuer stands for itself. */
function Belief({ cert, acts }: { readonly cert: Cert; readonly acts: Acts }) {
  const { id } = cert
  const subject = nameIn(cert.subject)
  const restore = (): void => void acts.restore(cert)
  if (cert.role === 'ci') return null
  if (cert.revoked)
    return (
      <Button kind="quiet" label={t('esim.cert.restore.of', { subject })} onClick={restore}>
        {t('esim.cert.restore')}
      </Button>
    )
  return (
    <DialogButton
      button={{ kind: 'quiet', label: t('esim.cert.revoke.of', { subject }) }}
      text="esim.cert.revoke"
      values={{ subject }}
      isDanger
      act={() => api.post('/v1/esim/certs/revoke', { body: { id } })}
      onDone={() => {
        toast({ text: t('esim.cert.revoked', { subject }), undo: restore })
        acts.reload()
      }}
    />
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

/** Of a dialog that is there while it is open: what was chosen or typed in it goes with it. */
interface OpenProps {
  readonly onDone: () => void
  readonly onClose: () => void
}

function Init({ onDone, onClose }: OpenProps) {
  const [host, setHost] = useState('')
  return (
    <FormDialog
      text="esim.certs.init"
      act={() => api.post('/v1/esim/certs/init', { body: host === '' ? {} : { host } })}
      onDone={() => {
        onClose()
        onDone()
      }}
      onClose={onClose}
    >
      <Field text="esim.certs.host" value={host} onInput={setHost} />
    </FormDialog>
  )
}

/** Takes certificates and their keys from files, all or none. */
function Import({ onDone, onClose }: OpenProps) {
  const [files, setFiles] = useState<readonly File[]>([])
  return (
    <FormDialog
      text="esim.certs.import"
      isDisabled={files.length === 0}
      act={async () =>
        api.post('/v1/esim/certs/import', { body: { files: await Promise.all(files.map(contentOf)) } })
      }
      done={({ certs }) => t('esim.certs.imported', { count: certs.length })}
      onDone={onDone}
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
