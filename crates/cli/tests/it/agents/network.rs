//! The way to the model: TLS by a local authority, proxies, encodings, and clients that take another way.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use super::super::models::dialect::{Turn, answer};
use super::super::models::provider::{Answer, Loopback};
use super::super::models::{err, out};
use super::super::real_servers::harness::wait_for;
use super::super::{Folder, skip};
use super::{OPENAI, OPENAI_NODE, World, inherit_path, model, reply, sources};

/// An address without a listener.
const DEAD: &str = "http://127.0.0.1:9";

/// TLS in front of a model, with a certificate of a new authority for `localhost` and `model.test`.
struct Tls {
    child: Child,
    port: u16,
    proxy: u16,
}

impl Tls {
    /// Nothing when there is no `openssl`.
    fn start(here: &Folder, model: &Loopback) -> Option<Self> {
        let openssl = |line: &str| {
            let mut command = Command::new("openssl");
            inherit_path(command.args(line.split(' ')).current_dir(&here.0).env_clear());
            command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        here.write("ext", b"subjectAltName=DNS:localhost,DNS:model.test\n");
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        let is_made = openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=test"))
            && openssl(&format!("req {key} -keyout key.pem -out request.pem -subj /CN=localhost"))
            && openssl(
                "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out cert.pem",
            );
        if !is_made {
            skip("`openssl` is not installed");
            return None;
        }
        let plain = model.base().rsplit(':').next().unwrap().to_owned();
        let mut command = Command::new("python3");
        inherit_path(command.arg(sources().join("tls.py")).current_dir(&here.0).env_clear());
        command.args(["cert.pem", "key.pem", &plain, "ports"]);
        let child = command.stdout(fs::File::create(here.0.join("connects")).unwrap()).spawn().unwrap();
        let mut this = Self { child, port: 0, proxy: 0 };
        let ports = here.0.join("ports");
        assert!(wait_for(400, || ports.exists()), "the TLS server does not start");
        let ports = fs::read_to_string(ports).unwrap();
        let (port, proxy) = ports.split_once(' ').unwrap();
        (this.port, this.proxy) = (port.parse().unwrap(), proxy.parse().unwrap());
        Some(this)
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_model_behind_tls_is_reached_by_a_local_authority_and_a_proxy() {
    let Some(world) = World::new(&OPENAI) else { return };
    let model = model(&OPENAI);
    let Some(tls) = Tls::start(&world.here, &model) else { return };
    // The program speaks plain HTTP to the recorder: only the recorder needs the certificate and the proxy.
    let secured = |base: &str| {
        let mut command = world.command(base, &[]);
        command.env("SSL_CERT_FILE", "ca.pem");
        command
    };
    world.check(secured(&format!("https://localhost:{}", tls.port)), 3);
    fs::remove_file(world.here.0.join("t.jsonl")).unwrap();
    let mut command = secured("https://model.test");
    command.env("HTTPS_PROXY", format!("http://127.0.0.1:{}", tls.proxy)).env("HTTP_PROXY", DEAD);
    world.check(command, 3);
    let connects = fs::read_to_string(world.here.0.join("connects")).unwrap();
    assert!(!connects.is_empty() && connects.lines().all(|line| line == "model.test:443"), "{connects}");
    assert_eq!(model.requests().len(), 6);
}

#[test]
fn an_unknown_certificate_authority_is_an_error_that_the_agent_gets() {
    let Some(world) = World::new(&OPENAI) else { return };
    let model = model(&OPENAI);
    let Some(tls) = Tls::start(&world.here, &model) else { return };
    let output = world.finish(world.command(&format!("https://localhost:{}", tls.port), &[]));
    let reported = err(&output);
    assert!(!output.status.success() && reported.contains("cannot reach localhost"), "{reported}");
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn an_environment_proxy_is_not_used_for_loopback() {
    for agent in [&OPENAI, &OPENAI_NODE] {
        let Some(world) = World::new(agent) else { continue };
        let model = model(agent);
        let mut command = world.command(&model.base(), &[]);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, DEAD);
        }
        // Node.js reads the variables of a proxy only when reported to.
        command.env("NODE_USE_ENV_PROXY", "1");
        world.check(command, 3);
    }
}

#[test]
fn an_encoded_reply_reaches_the_agent_and_the_trace() {
    let Some(world) = World::new(&OPENAI) else { return };
    let model = Loopback::start(|request, _| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(reply(request, "").body()).unwrap();
        Answer::status(200, "content-encoding: gzip\r\n", out.finish().unwrap())
    });
    world.check(world.command(&model.base(), &[]), 3);
}

#[test]
fn a_client_with_a_hard_coded_base_url_is_reported_as_unseen() {
    let Some(world) = World::new(&OPENAI) else { return };
    let model = Loopback::start(|request, _| answer(request, |_| Turn::text("Hi.")));
    let own = format!("{}/v1", model.base());
    fs::copy(sources().join("hard_coded.py"), world.here.0.join("hard_coded.py")).unwrap();
    let output = world.finish(world.recording(DEAD, &[], "hard_coded.py", &own));
    let reported = err(&output);
    assert_eq!((output.status.code(), &*out(&output)), (Some(125), "Hi.\n"), "{reported}");
    assert!(reported.starts_with("error[model-unseen]: the model was not seen"), "{reported}");
    assert!(!world.here.0.join("t.jsonl").exists());
    assert_eq!(model.requests().len(), 1);
}
