"""The program's file is known by its content."""

from __future__ import annotations

from pathlib import Path

from cxlab.run.results.inputs import program_file

#: Of "abc" (NIST, FIPS 180-2, appendix B.1).
SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_program_is_known_by_its_content(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("abc")
    program.chmod(0o755)
    expected = {"path": str(program.resolve()), "bytes": 3, "sha256": SHA256}
    assert program_file("./program", str(tmp_path), {}) == expected
    assert program_file("program", "/", {"PATH": f"/nowhere:{tmp_path}"}) == expected
    (tmp_path / "link").symlink_to("program")
    assert program_file("./link", str(tmp_path), {}) == expected


def test_what_is_no_file_has_no_content(tmp_path: Path) -> None:
    assert program_file("none", str(tmp_path), {"PATH": str(tmp_path)}) is None
    assert program_file("./none", str(tmp_path), {}) is None
    assert program_file("./", str(tmp_path), {}) is None
